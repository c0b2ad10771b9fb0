#include "relay/watch/live/sampler.h"

#include <sys/resource.h>

#include <string>

#include "monitors/smoothed.h"
#include "relay/observe/metrics/latency_metric.h"
#include "relay/observe/relay/relay_counters.h"

namespace weir {
namespace {

using enum LiveFigure;

// A rate over a shorter time would vary too much.
constexpr double kShortestSeconds = 0.2;
constexpr double kFeltSeconds = 3;
constexpr double kFeltWaiters = 0.1;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

template <typename T>
T SumOf(const ByClass<T>& classes, auto add) {
  T sum;
  for (const T& one : classes) add(sum, one);
  return sum;
}

void SetLevels(const LimiterView& view, const AdaptiveLimiter& limiter, LiveRow* row) {
  const LimiterView::Write& write = view[WorkClass::kInteractive];
  const LimiterView::Write& bulk = view[WorkClass::kBulk];
  row->Set(kLevelWrite, write.level);
  row->Set(kLevelBulk, bulk.level);
  row->Set(kLevelRead, view.read_level);
  // Uses the setpoint in effect, which moves gradually to a newly set one.
  row->Set(kSetpointWrite, limiter.ControllerState(Operation::kWrite, WorkClass::kInteractive).setpoint);
  row->Set(kSetpointBulk, limiter.ControllerState(Operation::kWrite, WorkClass::kBulk).setpoint);
  row->Set(kSetpointRead, limiter.ControllerState(Operation::kRead, WorkClass::kInteractive).setpoint);
  if (!write.open) row->Set(kLimitWrite, write.bytes_per_second);
  if (!bulk.open) row->Set(kLimitBulk, bulk.bytes_per_second);
  if (view.scans_at_once > 0) row->Set(kScansAtOnce, static_cast<double>(view.scans_at_once));
}

void SetQuantiles(const LatencySnapshot& recent, LiveFigure p50, LiveFigure p99, LiveRow* row) {
  if (recent.count() == 0) return;
  row->Set(p50, Quantile(recent, 0.50));
  row->Set(p99, Quantile(recent, 0.99));
}

void SetWaits(const GateStats::Waits& before, const GateStats::Waits& now, LiveFigure delay, LiveRow* row) {
  if (now.ended > before.ended)
    row->Set(delay, ToSeconds(now.time - before.time) / static_cast<double>(now.ended - before.ended));
}

LatencySnapshot Since(const LatencySnapshot& earlier, LatencySnapshot now) {
  for (size_t i = 0; i < kLatencyBuckets; ++i) now.cumulative[i] -= earlier.cumulative[i];
  now.sum -= earlier.sum;
  return now;
}

}  // namespace

void RecentLatencies::Add(const RelayCounters::Latencies& so_far) {
  seen_.push_back(so_far);
  if (seen_.size() > kSeconds + 1) seen_.pop_front();
}

RelayCounters::Latencies RecentLatencies::Recent() const {
  if (seen_.empty()) return {};
  const RelayCounters::Latencies& earlier = seen_.front();
  const RelayCounters::Latencies& now = seen_.back();
  return {.event_to_ok = Since(earlier.event_to_ok, now.event_to_ok),
          .req_to_eose = Since(earlier.req_to_eose, now.req_to_eose),
          .live_delivery = Since(earlier.live_delivery, now.live_delivery),
          .write_gate_wait = Since(earlier.write_gate_wait, now.write_gate_wait),
          .read_gate_wait = Since(earlier.read_gate_wait, now.read_gate_wait)};
}

LiveFeed::Sample Sampler::Take(const RelayMetrics& metrics) {
  LiveFeed::Sample sample;
  LiveRow& row = sample.row;
  const auto at = std::chrono::round<std::chrono::milliseconds>(wall_clock_.Now()).time_since_epoch();
  row.at = static_cast<double>(at.count()) / 1000;
  latencies_.Add(metrics.counters().LatenciesSoFar());
  const MetricSources sources = metrics.Sources();
  if (sources.limiter == nullptr) return sample;
  const LimiterView view = sources.limiter->View();
  SetLevels(view, *sources.limiter, &row);
  const RelayCounters::Latencies recent = latencies_.Recent();
  SetQuantiles(recent.event_to_ok, kOkP50, kOkP99, &row);
  SetQuantiles(recent.req_to_eose, kEoseP50, kEoseP99, &row);
  if (sources.service.server) row.Set(kConnections, static_cast<double>(sources.service.server().connections));
  if (sources.subscriptions) row.Set(kSubscriptions, static_cast<double>(sources.subscriptions()));
  if (view.sample.time) row.Set(kMemory, static_cast<double>(view.sample.memory_bytes));
  if (view.sample.memory_pressure > 0)
    row.Set(kMemoryTarget, static_cast<double>(view.sample.memory_bytes) / view.sample.memory_pressure);

  const Counts now = CountsOf(sources, view);
  row.Set(kWaitingWrite, static_cast<double>(now.write_waits[WorkClass::kInteractive].waiting));
  row.Set(kWaitingBulk, static_cast<double>(now.write_waits[WorkClass::kBulk].waiting));
  row.Set(kWaitingRead, static_cast<double>(now.read_waits.waiting));
  const TimePoint time = clock_.Now();
  if (before_) {
    SetRates(now, ToSeconds(time - before_at_), &row);
    sample.marks = MarksOf(now, row.at);
    Feel(now, ToSeconds(time - before_at_));
  }
  before_ = now;
  before_at_ = time;
  return sample;
}

Sampler::Counts Sampler::CountsOf(const MetricSources& sources, const LimiterView& view) {
  const GateStats writes = sources.limiter->Stats(Operation::kWrite);
  const GateStats reads = sources.limiter->Stats(Operation::kRead);
  Counts counts;
  counts.writes = writes.admitted;
  counts.write_waits = writes.waits;
  counts.reads = SumOf(reads.admitted, [](Flow& sum, const Flow& one) {
    sum.operations += one.operations;
    sum.bytes += one.bytes;
  });
  counts.read_waits = SumOf(reads.waits, [](GateStats::Waits& sum, const GateStats::Waits& one) {
    sum.ended += one.ended;
    sum.time += one.time;
    sum.refused += one.refused;
    sum.waiting += one.waiting;
  });
  counts.cpu_seconds = CpuSeconds();
  if (sources.service.server) {
    const ServerStats stats = sources.service.server();
    counts.received = stats.received_bytes;
    counts.sent = stats.sent_bytes;
  }
  counts.escapes = view.sample.escapes;
  counts.emergency = view.emergency;
  // A sensor is not lost before its first sample.
  counts.sensor_lost = view.sensor_lost && view.sample.time;
  return counts;
}

void Sampler::SetRates(const Counts& now, double seconds, LiveRow* row) const {
  if (seconds < kShortestSeconds) return;
  const auto set = [&](LiveFigure figure, uint64_t before, uint64_t after) {
    row->Set(figure, static_cast<double>(after - before) / seconds);
  };
  const Counts& before = *before_;
  constexpr WorkClass kInteractive = WorkClass::kInteractive;
  constexpr WorkClass kBulk = WorkClass::kBulk;
  set(kAdmittedWrite, before.writes[kInteractive].operations, now.writes[kInteractive].operations);
  set(kAdmittedBulk, before.writes[kBulk].operations, now.writes[kBulk].operations);
  set(kAdmittedRead, before.reads.operations, now.reads.operations);
  set(kBytesWrite, before.writes[kInteractive].bytes, now.writes[kInteractive].bytes);
  set(kBytesBulk, before.writes[kBulk].bytes, now.writes[kBulk].bytes);
  set(kRefusedWrite, before.write_waits[kInteractive].refused, now.write_waits[kInteractive].refused);
  set(kRefusedBulk, before.write_waits[kBulk].refused, now.write_waits[kBulk].refused);
  set(kRefusedRead, before.read_waits.refused, now.read_waits.refused);
  SetWaits(before.write_waits[kInteractive], now.write_waits[kInteractive], kDelayWrite, row);
  SetWaits(before.write_waits[kBulk], now.write_waits[kBulk], kDelayBulk, row);
  SetWaits(before.read_waits, now.read_waits, kDelayRead, row);
  set(kReceived, before.received, now.received);
  set(kSent, before.sent, now.sent);
  row->Set(kCpu, (now.cpu_seconds - before.cpu_seconds) / seconds);
}

void Sampler::Feel(const Counts& now, double seconds) {
  if (seconds <= 0) return;
  const auto feel = [seconds](const GateStats::Waits& before, const GateStats::Waits& after, double* waiters) {
    const double refused = after.refused > before.refused ? 1 : 0;
    const double waited = ToSeconds(after.time - before.time) / seconds + static_cast<double>(after.waiting);
    *waiters += (waited + refused - *waiters) * SmoothingWeight(seconds, kFeltSeconds);
  };
  constexpr WorkClass kInteractive = WorkClass::kInteractive;
  constexpr WorkClass kBulk = WorkClass::kBulk;
  feel(before_->write_waits[kInteractive], now.write_waits[kInteractive], &waiters_.write);
  feel(before_->write_waits[kBulk], now.write_waits[kBulk], &waiters_.bulk);
  feel(before_->read_waits, now.read_waits, &waiters_.read);
}

Sampler::Felt Sampler::felt() const {
  return {.write = waiters_.write >= kFeltWaiters,
          .bulk = waiters_.bulk >= kFeltWaiters,
          .read = waiters_.read >= kFeltWaiters};
}

std::vector<LiveMark> Sampler::MarksOf(const Counts& now, double at) const {
  std::vector<LiveMark> marks;
  const auto mark = [&](const char* kind, const char* text) {
    marks.push_back({.at = at, .kind = kind, .text = text, .who = ""});
  };
  if (now.emergency != before_->emergency)
    mark("emergency", now.emergency ? "emergency: memory is short" : "the emergency is over");
  if (now.sensor_lost != before_->sensor_lost)
    mark("sensor", now.sensor_lost ? "the engine cannot be measured" : "the engine is measured again");
  if (now.escapes > before_->escapes) mark("engine", "the engine braked by itself");
  return marks;
}

}  // namespace weir
