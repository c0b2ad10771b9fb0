#include "bench/storm/control_policies.h"

#include <rocksdb/db.h>

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

constexpr Duration kPlanFlushDelay = std::chrono::milliseconds(100);

PlanSettings Import(double setpoint) {
  PlanSettings import = kPlanImport;
  if (std::isfinite(setpoint)) import.setpoint = setpoint;
  return import;
}

}  // namespace

PlanPolicy::PlanPolicy(double setpoint) : import_(Import(setpoint)) {}

void PlanPolicy::Start(StormEngine& engine) {
  Policy::Start(engine);
  engine_ = &engine;
  l0_trigger_ = db().GetOptions().level0_file_num_compaction_trigger;
}

void PlanPolicy::Stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  let_go_.notify_all();
}

WriteResult PlanPolicy::Write(Party party, rocksdb::WriteBatch& batch) {
  WriteResult result{.status = db().Write({}, &batch)};
  const TimePoint written = Clock::System().Now();
  PublishedPlan& plan = party.work_class == WorkClass::kBulk ? import_ : writes_;
  // The plan counts stored records.
  for (int i = 0; i < static_cast<int>(batch.Count()); ++i) AfterOperation(plan, Kind::kWrite);
  result.waited = Clock::System().Now() - written;
  return result;
}

bool PlanPolicy::Read(Party, uint64_t, const std::function<void()>& read) {
  read();
  AfterOperation(reads_, Kind::kRead);
  return true;
}

void PlanPolicy::AfterOperation(PublishedPlan& plan, Kind kind) {
  std::unique_lock lock(mutex_);
  if (!plan.CountOperation()) return;
  const Duration delay = plan.Delay(Clock::System().Now(), ProcessVariable());
  if (kind == Kind::kWrite && delay > kPlanFlushDelay) {
    lock.unlock();
    (void)db().SyncWAL();
    lock.lock();
  }
  let_go_.wait_for(lock, delay, [this] { return stopped_; });
}

double PlanPolicy::ProcessVariable() const {
  const RocksDbDetails details = engine_->monitor().Details();
  const double l0 = static_cast<double>(details.l0_files);
  const double load = std::max(l0 / 10, std::max(l0 / l0_trigger_, details.score) / 2);
  return PublishedPlan::ProcessVariable(engine_->monitor().MemoryPressure(), load);
}

PolicyView PlanPolicy::View() const {
  std::lock_guard lock(mutex_);
  return {.reason = import_.delay() > Duration::zero() ? "delay" : ""};
}

WriteResult StaticPolicy::Write(Party party, rocksdb::WriteBatch& batch) {
  WriteResult result;
  if (party.work_class == WorkClass::kBulk) {
    const TimePoint asked = Clock::System().Now();
    std::unique_lock lock(mutex_);
    const TimePoint turn = std::max(next_, asked);
    next_ = turn + FromSeconds(static_cast<double>(batch.GetDataSize()) / bytes_per_second_);
    result.refused = let_go_.wait_for(lock, turn - asked, [this] { return stopped_; });
    result.waited = Clock::System().Now() - asked;
    if (result.refused) return result;
  }
  result.status = db().Write({}, &batch);
  return result;
}

void StaticPolicy::Stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  let_go_.notify_all();
}

WeirPolicy::WeirPolicy(const LimiterSettings& settings, Classes classes, double setpoint)
    : settings_(settings), classes_(classes) {
  if (std::isfinite(setpoint)) (classes == Classes::kOne ? settings_.write : settings_.bulk).setpoint = setpoint;
}

void WeirPolicy::Start(StormEngine& engine) {
  Policy::Start(engine);
  limiter_ = std::make_unique<AdaptiveLimiter>(engine.monitor(), settings_);
  limiter_->Start();
}

WriteResult WeirPolicy::Write(Party party, rocksdb::WriteBatch& batch) {
  if (classes_ == Classes::kOne) party.work_class = WorkClass::kInteractive;
  Admission admission = limiter_->Admit(Operation::kWrite, {batch.GetDataSize()}, party);
  if (admission.Wait() == Admission::State::kRefused)
    return {.refused = true, .retry_after = admission.retry_after(), .waited = admission.waited()};
  return {.status = db().Write({}, &batch), .waited = admission.waited()};
}

bool WeirPolicy::Read(Party party, uint64_t bytes, const std::function<void()>& read) {
  Admission admission = limiter_->Admit(Operation::kRead, {bytes}, party);
  if (admission.Wait() == Admission::State::kRefused) return false;
  read();
  return true;
}

bool FewScansPolicy::Read(Party party, uint64_t bytes, const std::function<void()>& read) {
  if (party.work_class != WorkClass::kBulk) return WeirPolicy::Read(party, bytes, read);
  {
    std::unique_lock lock(mutex_);
    one_ended_.wait(lock, [this] { return free_ > 0; });
    --free_;
  }
  const bool done = WeirPolicy::Read(party, bytes, read);
  std::lock_guard lock(mutex_);
  ++free_;
  one_ended_.notify_one();
  return done;
}

PolicyView WeirPolicy::View() const {
  const LimiterView::Write bulk =
      limiter_->View()[classes_ == Classes::kOne ? WorkClass::kInteractive : WorkClass::kBulk];
  PolicyView view{.reason = bulk.reason};
  if (!bulk.open) view.bulk_bytes_per_second = bulk.bytes_per_second;
  return view;
}

}  // namespace weir
