// SpanExporter: sends the ended spans of a tracer (tracer.h) to an OpenTelemetry collector, as JSON in the body of POST
// {endpoint}/v1/traces.
//
// A batch consists of all spans that have ended and were not sent yet; the exporter sends at most one batch a second.
// If the collector does not answer, or cannot accept the batch for now (429, 502, 503, 504), the exporter sends the
// batch again, after a random pause that about doubles with each try, up to kLongestPause. If the answer has the field
// Retry-After in seconds, the pause is at least that long, but at most 5 minutes. After five tries the exporter drops
// the batch. After any other answer that is not 2xx it drops the batch at once. Meanwhile the tracer collects the next
// spans, and drops those beyond its limits (SpanBounds). So all spans together need at most the memory of a full tracer
// plus that of one batch, less than 10 MB.
//
// Threads: only one thread at a time may call Step and Flush; any thread may call Stats.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "config/clock.h"
#include "config/wire/http/http_connection.h"
#include "relay/observe/trace/trace_settings.h"
#include "relay/observe/trace/tracer.h"

namespace weir {

struct ExportStats {
  uint64_t sent = 0;      // spans that the collector accepted
  uint64_t rejected = 0;  // spans that the collector rejected from batches that it accepted
  uint64_t failed = 0;    // spans of batches that were dropped
};

class SpanExporter {
 public:
  static constexpr Duration kEvery = std::chrono::seconds(1);
  static constexpr Duration kLongestPause = std::chrono::seconds(30);
  static constexpr Duration kLongestRetryAfter = std::chrono::minutes(5);
  static constexpr int kTries = 5;
  static constexpr std::chrono::milliseconds kCallTimeout{10'000};

  using Send = std::function<HttpAnswer(const HttpCall& call)>;

  // `clock` must be the clock of the tracer; the exporter converts the tracer's times to dates with `wall_clock`. Both
  // must outlive the exporter. The exporter calls `send` on the thread that calls Step or Flush.
  SpanExporter(std::shared_ptr<Tracer> tracer, const TraceTarget& target, Send send, const Clock& clock,
               const WallClock& wall_clock);

  // Sends a batch if one is due, and blocks up to kCallTimeout for the answer. Returns the time at which the caller
  // should call Step again. A stop request ends a running call to the collector, which then counts as a failed try.
  TimePoint Step(const std::stop_token& stop = {});
  // Tries once to send all ended spans: first the batch that was not accepted yet, if there is one, then a batch with
  // the other spans. Waits up to `longest` for each of the two answers. Sends no second batch after a problem with the
  // first.
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

  HttpCall call_;            // its body is the batch
  uint64_t spans_ = 0;       // number of spans in the batch; 0: there is no batch
  int tries_ = 0;            // number of tries of the batch so far
  Duration pause_ = kEvery;  // longest pause before the next try
  TimePoint due_;            // time of the next try or batch
  std::string problem_;      // problem of the last call; empty: none

  std::atomic<uint64_t> sent_{0};
  std::atomic<uint64_t> rejected_{0};
  std::atomic<uint64_t> failed_{0};
};

}  // namespace weir
