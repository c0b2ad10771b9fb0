// Traces: the tracing of a program. It owns a tracer (tracer.h) and a thread that sends the tracer's spans to a
// collector (span_exporter.h).
//
//   Result<std::unique_ptr<Traces>> traces = Traces::Open(settings);      // null if tracing is off
//   …
//   Span span = BeginSpan(Traces::TracerOf(traces.value()), "EVENT", SpanKind::kServer);
#pragma once

#include <condition_variable>
#include <memory>
#include <stop_token>
#include <thread>

#include "config/mutex.h"
#include "config/status.h"
#include "relay/observe/trace/span_exporter.h"
#include "relay/observe/trace/trace_settings.h"
#include "relay/observe/trace/tracer.h"

namespace weir {

struct TraceStats {
  ExportStats exported;
  uint64_t dropped = 0;  // spans that the tracer dropped: too many, no memory, or they ended too late
  uint64_t waiting = 0;  // spans that have ended and are not in a batch yet
};

class Traces {
 public:
  static constexpr std::chrono::milliseconds kLongestFlush{1000};

  // Returns null if no endpoint is set, and an error if a setting is wrong.
  static Result<std::unique_ptr<Traces>> Open(const TraceSettings& settings);
  // Starts the thread, which calls `send` for each batch. `ratio` is the share of requests that are sampled, 0 to 1.
  Traces(double ratio, const TraceTarget& target, SpanExporter::Send send);
  // Sends the spans that have ended. This takes at most about a second.
  ~Traces();

  // Returns the tracer, or null if `traces` is null. The pointer is valid as long as the Traces object.
  static Tracer* TracerOf(const std::unique_ptr<Traces>& traces) { return traces ? traces->tracer_.get() : nullptr; }
  TraceStats Stats() const;

 private:
  void Run(const std::stop_token& stop);

  const std::shared_ptr<Tracer> tracer_;
  SpanExporter exporter_;

  std::stop_source hurry_;  // ends a running call to the collector
  Mutex mutex_;
  std::condition_variable_any changed_;
  bool flushed_ WEIR_GUARDED_BY(mutex_) = false;  // true when the thread has sent the last spans
  std::jthread thread_;                           // the last member, so that it ends first
};

}  // namespace weir
