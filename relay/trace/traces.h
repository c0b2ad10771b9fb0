// Traces: a program's traces, from its settings to the collector: a tracer, and a thread that exports its spans.
//
//   Result<std::unique_ptr<Traces>> traces = Traces::Open(settings);      // null: off
//   …
//   Span span = BeginSpan(Traces::TracerOf(traces.value()), "EVENT", SpanKind::kServer);
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "config/status.h"
#include "relay/trace/span_exporter.h"
#include "relay/trace/trace_settings.h"
#include "relay/trace/tracer.h"

namespace weir {

struct TraceStats {
  ExportStats exported;
  uint64_t dropped = 0;  // without being sent: too many at once, or after the end
  uint64_t waiting = 0;
};

class Traces {
 public:
  static constexpr std::chrono::milliseconds kLongestFlush{1000};

  // Returns null if no endpoint is set.
  static Result<std::unique_ptr<Traces>> Open(const TraceSettings& settings);
  // Exports spans by calling `send`.
  Traces(double ratio, const TraceTarget& target, SpanExporter::Send send);
  // Sends the spans that have ended, but takes a second at most.
  ~Traces();

  static Tracer* TracerOf(const std::unique_ptr<Traces>& traces) { return traces ? traces->tracer_.get() : nullptr; }
  TraceStats Stats() const;

 private:
  void Run(const std::stop_token& stop);

  const std::shared_ptr<Tracer> tracer_;
  SpanExporter exporter_;

  std::stop_source hurry_;  // ends a call that is under way
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool flushed_ = false;
  std::jthread thread_;  // ends first
};

}  // namespace weir
