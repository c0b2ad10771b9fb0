#include "relay/retention/removal_jobs.h"

#include <simdjson.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <utility>

#include "config/text/readable.h"

namespace weir {
namespace {

constexpr size_t kShownOrderBytes = 400;
constexpr std::array<std::string_view, 5> kPhaseNames = {"counting", "removing", "done", "stopped", "failed"};

}  // namespace

std::string_view NameOf(RemovalState::Phase phase) { return kPhaseNames[static_cast<size_t>(phase)]; }

void WriteState(const RemovalState& state, JsonWriter& json) {
  json.Open('{');
  json.Member("id").Number(state.id);
  json.Member("by").String(state.by);
  json.Member("order").String(state.order);
  json.Member("dry_run").Bool(state.dry_run);
  json.Member("state").String(NameOf(state.phase));
  json.Member("matched").Number(state.matched);
  json.Member("removed").Number(state.removed);
  json.Member("error").String(state.error);
  json.Close('}');
}

Result<RemovalState> ReadState(std::string_view text) {
  simdjson::dom::parser parser;
  const auto json = parser.parse(text.data(), text.size());
  RemovalState state;
  std::string_view by, order, phase, error;
  const bool whole =
      json["id"].get(state.id) == simdjson::SUCCESS && json["by"].get(by) == simdjson::SUCCESS &&
      json["order"].get(order) == simdjson::SUCCESS && json["dry_run"].get(state.dry_run) == simdjson::SUCCESS &&
      json["state"].get(phase) == simdjson::SUCCESS && json["matched"].get(state.matched) == simdjson::SUCCESS &&
      json["removed"].get(state.removed) == simdjson::SUCCESS && json["error"].get(error) == simdjson::SUCCESS;
  const auto* const known = std::ranges::find(kPhaseNames, phase);
  if (!whole || known == kPhaseNames.end()) return Status::Error("the answer is no state of a removal");
  state.by = by;
  state.order = order;
  state.error = error;
  state.phase = static_cast<RemovalState::Phase>(known - kPhaseNames.begin());
  return state;
}

struct RemovalJobs::Job {
  Job(RemovalOrder what, const RemovalJobs& jobs, const std::string& by, uint64_t id, uint64_t now)
      : order(std::move(what)), removal(jobs.store_, jobs.admit_, jobs.remove_, order.FiltersAt(now)) {
    state.id = id;
    state.by = by;
    state.order = AsText(ToJson(order).substr(0, kShownOrderBytes));
    state.dry_run = order.dry_run;
    if (order.counted && !order.dry_run) state.phase = RemovalState::Phase::kRemoving;
  }

  const RemovalOrder order;
  FilteredRemoval removal;
  RemovalState state;  // without the counts; guarded by the mutex of the RemovalJobs
};

RemovalJobs::RemovalJobs(const EventStore& store, BulkReads::Admit admit, FilteredRemoval::Remove remove,
                         const WallClock& clock)
    : store_(store), admit_(std::move(admit)), remove_(std::move(remove)), clock_(clock) {}

RemovalJobs::~RemovalJobs() { Stop(); }

Result<RemovalState> RemovalJobs::Begin(RemovalOrder order, const std::string& by) {
  const MutexLock begin(begin_mutex_);
  const uint64_t now = clock_.NowSeconds();
  Job* job = nullptr;
  RemovalState state;
  {
    const MutexLock lock(mutex_);
    if (stopped_) return Status::Error("the relay stops");
    const RemovalState* const last = jobs_.empty() ? nullptr : &jobs_.front()->state;
    if (last != nullptr && last->goes_on())
      return Status::Error("the removal " + std::to_string(last->id) + " of " + last->by +
                           " goes on; another one can begin when it is over or cancelled");
    const uint64_t id = std::max(now, last == nullptr ? 0 : last->id + 1);
    jobs_.push_front(std::make_unique<Job>(std::move(order), *this, by, id, now));
    job = jobs_.front().get();
    state = StateOf(*job);
  }
  if (thread_.joinable()) thread_.join();
  const Status begun = FaultsAsStatus([&]() WEIR_REQUIRES(begin_mutex_) {
    thread_ = std::thread([this, job] { Run(*job); });
    return Status();
  });
  if (begun.ok()) return state;
  const MutexLock lock(mutex_);
  jobs_.pop_front();
  return begun;
}

void RemovalJobs::Run(Job& job) {
  const Status status = FaultsAsStatus([&] { return Carry(job); });
  RemovalState state;
  {
    const MutexLock lock(mutex_);
    using Phase = RemovalState::Phase;
    job.state.phase = status.ok() ? Phase::kDone : job.removal.stopped() ? Phase::kStopped : Phase::kFailed;
    if (job.state.phase == Phase::kFailed) job.state.error = status.message();
    removed_ += job.removal.removed();
    state = StateOf(job);
    if (jobs_.size() > kMostListed) jobs_.pop_back();
  }
  spdlog::info("the removal {} of {} is {}: {} of {} events are removed{}{}", state.id, state.by, NameOf(state.phase),
               state.removed, state.matched, state.error.empty() ? "" : ": ", state.error);
}

Status RemovalJobs::Carry(Job& job) {
  if (job.state.phase == RemovalState::Phase::kCounting) {
    if (Status counted = job.removal.Count(); !counted.ok() || job.order.dry_run) return counted;
    const MutexLock lock(mutex_);
    job.state.phase = RemovalState::Phase::kRemoving;
  }
  return job.removal.Run();
}

RemovalState RemovalJobs::StateOf(const Job& job) const {
  RemovalState state = job.state;
  state.matched = job.order.counted.value_or(job.removal.matched());
  state.removed = job.removal.removed();
  return state;
}

bool RemovalJobs::Cancel(uint64_t id) {
  const MutexLock lock(mutex_);
  if (jobs_.empty() || jobs_.front()->state.id != id || !jobs_.front()->state.goes_on()) return false;
  jobs_.front()->removal.Stop();
  return true;
}

std::vector<RemovalState> RemovalJobs::List() const {
  const MutexLock lock(mutex_);
  std::vector<RemovalState> states;
  for (const auto& job : jobs_) states.push_back(StateOf(*job));
  return states;
}

void RemovalJobs::Stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    if (!jobs_.empty()) jobs_.front()->removal.Stop();
  }
  const MutexLock begin(begin_mutex_);
  if (thread_.joinable()) thread_.join();
}

uint64_t RemovalJobs::removed() const {
  const MutexLock lock(mutex_);
  const bool goes_on = !jobs_.empty() && jobs_.front()->state.goes_on();
  return removed_ + (goes_on ? jobs_.front()->removal.removed() : 0);
}

}  // namespace weir
