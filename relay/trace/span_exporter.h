// SpanExporter sends a tracer's spans to an OpenTelemetry collector: POST {endpoint}/v1/traces, in JSON.
//
// A batch is all spans that have ended; there is at most one a second. If the collector does not answer, or cannot take
// it for now (429, 502, 503, 504), the batch is sent again, later each time and no earlier than Retry-After says. After
// five tries it is given up. Any other answer ends the batch. Meanwhile the tracer gathers the next one, and drops
// spans beyond its bounds: so traces hold at most a full tracer and a batch, under 10 MB.
//
// Threads: one; Stats may be called from any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "config/clock.h"
#include "config/http/http_connection.h"
#include "relay/trace/trace_settings.h"
#include "relay/trace/tracer.h"

namespace weir {

struct ExportStats {
  uint64_t sent = 0;
  uint64_t rejected = 0;  // by the collector, of batches that it took
  uint64_t failed = 0;    // in batches that were given up
};

class SpanExporter {
 public:
  static constexpr Duration kEvery = std::chrono::seconds(1);
  static constexpr Duration kLongestPause = std::chrono::seconds(30);
  static constexpr Duration kLongestRetryAfter = std::chrono::minutes(5);
  static constexpr int kTries = 5;
  static constexpr std::chrono::milliseconds kCallTimeout{10'000};

  using Send = std::function<HttpAnswer(const HttpCall& call)>;

  // `clock` is the tracer's; `wall_clock` gives its times a date.
  SpanExporter(std::shared_ptr<Tracer> tracer, const TraceTarget& target, Send send, const Clock& clock,
               const WallClock& wall_clock);

  // Sends the batch that is due, if any. Returns when to call again.
  TimePoint Step(const std::stop_token& stop = {});
  // Sends all spans, each once: a batch that was not taken, then the rest. Each call may take `longest`; a problem ends
  // it.
  void Flush(std::chrono::milliseconds longest, const std::stop_token& stop = {});

  ExportStats Stats() const;

 private:
  void TakeBatch();
  void SendBatch(std::chrono::milliseconds timeout, const std::stop_token& stop);
  void Taken(const HttpAnswer& answer);
  void NotTaken(const HttpAnswer& answer);
  void EndBatch(std::atomic<uint64_t>* as);
  void SetProblem(const std::string& problem);

  const std::shared_ptr<Tracer> tracer_;
  const std::string origin_;
  const ResourceAttributes resource_;
  const Send send_;
  const Clock& clock_;
  const WallClock& wall_clock_;

  HttpCall call_;       // its body is the batch
  uint64_t spans_ = 0;  // spans in the batch; 0: there is no batch
  int tries_ = 0;       // tries of the batch
  Duration pause_ = kEvery;
  TimePoint due_;
  std::string problem_;  // the latest call's problem

  std::atomic<uint64_t> sent_{0};
  std::atomic<uint64_t> rejected_{0};
  std::atomic<uint64_t> failed_{0};
};

}  // namespace weir
