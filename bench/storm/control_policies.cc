#include <rocksdb/db.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>

#include "bench/plan/published_plan.h"
#include "bench/storm/policies.h"
#include "throttle/adaptive_limiter.h"

namespace weir {
namespace {

constexpr Duration kPlanFlushDelay = std::chrono::milliseconds(100);

PlanSettings Import(double setpoint) {
  PlanSettings import = kPlanImport;
  if (std::isfinite(setpoint)) import.setpoint = setpoint;
  return import;
}

class PlanPolicy final : public Policy {
 public:
  explicit PlanPolicy(double setpoint) : import_(Import(setpoint)) {}

  void Start(StormEngine& engine) override {
    Policy::Start(engine);
    l0_trigger_ = engine.db().GetOptions().level0_file_num_compaction_trigger;
  }

  void Stop() override {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    let_go_.notify_all();
  }

  WriteResult Write(Party party, rocksdb::WriteBatch& batch) override {
    WriteResult result{.status = engine().Write({}, party.work_class, batch)};
    const TimePoint written = Clock::System().Now();
    PublishedPlan& plan = party.work_class == WorkClass::kBulk ? import_ : writes_;
    // The plan counts each stored record.
    for (int i = 0; i < static_cast<int>(batch.Count()); ++i) AfterOperation(plan);
    result.waited = Clock::System().Now() - written;
    return result;
  }

  bool Read(Party, uint64_t, const std::function<void()>& read) override {
    read();
    AfterOperation(reads_);
    return true;
  }

  PolicyView View() const override {
    std::lock_guard lock(mutex_);
    return {.reason = import_.delay() > Duration::zero() ? "delay" : ""};
  }

 private:
  void AfterOperation(PublishedPlan& plan) {
    std::unique_lock lock(mutex_);
    if (!plan.CountOperation()) return;
    const Duration delay = plan.Delay(Clock::System().Now(), ProcessVariable());
    if (&plan != &reads_ && delay > kPlanFlushDelay) {
      lock.unlock();
      (void)engine().db().SyncWAL();
      lock.lock();
    }
    let_go_.wait_for(lock, delay, [this] { return stopped_; });
  }

  double ProcessVariable() const {
    const RocksDbDetails details = engine().monitor().Details();
    const double l0 = static_cast<double>(details.l0_files);
    const double load = std::max(l0 / 10, std::max(l0 / l0_trigger_, details.score) / 2);
    return PublishedPlan::ProcessVariable(engine().monitor().MemoryPressure(), load);
  }

  double l0_trigger_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable let_go_;
  bool stopped_ = false;
  PublishedPlan writes_{kPlanWrites};
  PublishedPlan import_;
  PublishedPlan reads_{kPlanReads};
};

class StaticPolicy final : public Policy {
 public:
  explicit StaticPolicy(double bulk_megabytes_per_second) : bytes_per_second_(bulk_megabytes_per_second * 1e6) {}

  void Adapt(StormEngine::Options& options) const override { options.move_brakes = true; }

  WriteResult Write(Party party, rocksdb::WriteBatch& batch) override {
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
    result.status = engine().Write({}, party.work_class, batch);
    return result;
  }

  void Stop() override {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    let_go_.notify_all();
  }

  PolicyView View() const override { return {.bulk_bytes_per_second = bytes_per_second_, .reason = "static"}; }

 private:
  const double bytes_per_second_;
  std::mutex mutex_;
  std::condition_variable let_go_;
  bool stopped_ = false;
  TimePoint next_{};  // when the next bulk write may start
};

class WeirPolicy final : public Policy {
 public:
  WeirPolicy(const LimiterSettings& settings, WeirClasses classes, double setpoint)
      : settings_(settings), classes_(classes) {
    if (std::isfinite(setpoint)) (classes == WeirClasses::kOne ? settings_.write : settings_.bulk).setpoint = setpoint;
  }

  void Adapt(StormEngine::Options& options) const override { options.move_brakes = settings_.ReplacesBrakes(); }

  void Start(StormEngine& engine) override {
    Policy::Start(engine);
    limiter_ = std::make_unique<AdaptiveLimiter>(engine.monitor(), settings_);
    limiter_->Start();
  }
  void Stop() override { limiter_->Stop(); }

  WriteResult Write(Party party, rocksdb::WriteBatch& batch) override {
    const WorkClass work = party.work_class;
    if (classes_ == WeirClasses::kOne) party.work_class = WorkClass::kInteractive;
    Admission admission = limiter_->Admit(Operation::kWrite, {batch.GetDataSize()}, party);
    if (admission.Wait() == Admission::State::kRefused)
      return {.refused = true, .retry_after = admission.retry_after(), .waited = admission.waited()};
    return {.status = engine().Write({}, work, batch), .waited = admission.waited()};
  }

  bool Read(Party party, uint64_t bytes, const std::function<void()>& read) override {
    Admission admission = limiter_->Admit(Operation::kRead, {bytes}, party);
    if (admission.Wait() == Admission::State::kRefused) return false;
    read();
    return true;
  }

  PolicyView View() const override {
    const WorkClass work = classes_ == WeirClasses::kOne ? WorkClass::kInteractive : WorkClass::kBulk;
    const LimiterView::Write bulk = limiter_->View()[work];
    PolicyView view{.reason = bulk.reason};
    if (!bulk.open) view.bulk_bytes_per_second = bulk.bytes_per_second;
    return view;
  }

 private:
  LimiterSettings settings_;
  const WeirClasses classes_;
  std::unique_ptr<AdaptiveLimiter> limiter_;
};

}  // namespace

std::unique_ptr<Policy> MakePlanPolicy(double setpoint) { return std::make_unique<PlanPolicy>(setpoint); }

std::unique_ptr<Policy> MakeStaticPolicy(double bulk_megabytes_per_second) {
  return std::make_unique<StaticPolicy>(bulk_megabytes_per_second);
}

std::unique_ptr<Policy> MakeWeirPolicy(const LimiterSettings& settings, WeirClasses classes, double setpoint) {
  return std::make_unique<WeirPolicy>(settings, classes, setpoint);
}

}  // namespace weir
