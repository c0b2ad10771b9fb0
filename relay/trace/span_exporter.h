// SpanExporter: brings a tracer's spans to a collector of OpenTelemetry: POST {endpoint}/v1/traces, in JSON.
//
// A batch is all that has ended, at most one a second. Where the collector does not answer, or says that it cannot for
// now (429, 502, 503, 504), the batch is sent again, later each time and as late as Retry-After says, five times in
// all; then it is given up. What it answers else is the end of the batch. Meanwhile the tracer gathers the next one,
// and drops what is beyond its bounds: so all that traces hold is a full tracer and a batch, under 10 MB.
//
// Threads: one; Stats from any.
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
  uint64_t rejected = 0;  // of a batch that the collector took, by the collector
  uint64_t failed = 0;    // whose batch was given up
};

class SpanExporter {
 public:
  static constexpr Duration kEvery = std::chrono::seconds(1);
  static constexpr Duration kLongestPause = std::chrono::seconds(30);
  static constexpr Duration kLongestRetryAfter = std::chrono::minutes(5);
  static constexpr int kTries = 5;
  static constexpr std::chrono::milliseconds kCallTimeout{10'000};

  using Send = std::function<HttpAnswer(const HttpCall& call)>;

  // `wall_clock` dates what `clock`, which is the tracer's, has measured.
  SpanExporter(std::shared_ptr<Tracer> tracer, const TraceTarget& target, Send send, const Clock& clock,
               const WallClock& wall_clock);

  // Sends what is due, if anything is. When to call again.
  TimePoint Step(const std::stop_token& stop = {});
  // Sends what there is, once: a batch that was not taken, then the rest.
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
  uint64_t spans_ = 0;  // in it; 0: there is none
  int tries_ = 0;       // of it
  Duration pause_ = kEvery;
  TimePoint due_;
  std::string problem_;  // of the latest call

  std::atomic<uint64_t> sent_{0};
  std::atomic<uint64_t> rejected_{0};
  std::atomic<uint64_t> failed_{0};
};

}  // namespace weir
