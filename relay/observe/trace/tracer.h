// Tracer: decides which requests are sampled (traced), begins their spans (span.h), and keeps the ended spans until
// they are exported (span_exporter.h).
//
// When a request begins, a random choice with the probability `ratio` decides whether the request and all its child
// spans are sampled.
//
// An HTTP request with a header field traceparent continues a trace of the client: the request's span becomes a child
// of the client's span. The request is sampled only if the client has sampled its own span and the allowance is at
// least 1. The allowance keeps an unknown client from having everything traced: every call of BeginServed adds `ratio`
// to it, up to kMostSaved, and every request that is sampled because of the field subtracts 1.
//
// SpanBounds limits the number of spans, open and ended ones together, and the bytes of the ended spans. The tracer
// drops and counts every span beyond these limits. No thread ever waits for the exporter.
//
// Threads: any thread may call any function.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"
#include "relay/observe/trace/span.h"

namespace weir {

struct SpanBounds {
  size_t spans = 4096;     // the most spans that are open, or have ended and wait for TakeEnded
  size_t bytes = 2 << 20;  // the most bytes of the spans that wait for TakeEnded
};

class Tracer : public std::enable_shared_from_this<Tracer> {
 public:
  static constexpr double kMostSaved = 10;  // the highest allowance, and that at the start (0 if `ratio` is 0)

  // `ratio` is the share of requests that are sampled, 0 to 1. A shared_ptr must own the tracer, because its spans keep
  // it alive. The clock must outlive the tracer.
  explicit Tracer(double ratio, const Clock& clock = Clock::System(), SpanBounds bounds = {});

  // Begins the first span of a new trace, now or at `since`. Returns an empty span if the request is not sampled, or if
  // SpanBounds leaves no room for a span.
  Span Begin(std::string_view name, SpanKind kind) noexcept {
    return Chance() ? BeginTrace(name, kind, clock_.Now()) : Span();
  }
  Span Begin(std::string_view name, SpanKind kind, TimePoint since) noexcept {
    return Chance() ? BeginTrace(name, kind, since) : Span();
  }
  // Begins the span of an HTTP request whose header field traceparent is `traceparent`. If the field is empty or
  // malformed, does the same as Begin. Otherwise the span continues the client's trace; returns an empty span if the
  // client has not sampled its trace, if the allowance is less than 1, or if there is no room for a span.
  Span BeginServed(std::string_view name, std::string_view traceparent) noexcept;

  // Removes the ended spans and returns them, in the order in which they ended.
  std::vector<SpanData> TakeEnded();
  // Makes the tracer drop every span that ends from now on, because TakeEnded will not be called again.
  void Close();

  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }  // number of dropped spans
  // Returns the number of spans that have ended and wait for TakeEnded.
  uint64_t waiting() const;

 private:
  friend class Span;

  bool Chance() const { return RandomBits() >> 11 < threshold_; }
  bool Allow(bool asks);
  Span BeginTrace(std::string_view name, SpanKind kind, TimePoint since) noexcept;
  Span Open(SpanData data) noexcept;
  void Drop();
  Span BeginChild(const SpanData& parent, std::string_view name) noexcept;
  void Take(SpanData span) noexcept;

  const double ratio_;
  const uint64_t threshold_;  // ratio * 2^53: a request is sampled if a random number of 53 bits is lower
  const Clock& clock_;
  const SpanBounds bounds_;

  std::atomic<uint64_t> spans_{0};  // number of spans that are open, or have ended and wait for TakeEnded
  std::atomic<uint64_t> dropped_{0};

  mutable Mutex mutex_;
  // The number of requests that may be sampled because of their traceparent.
  double allowance_ WEIR_GUARDED_BY(mutex_);
  std::vector<SpanData> ended_ WEIR_GUARDED_BY(mutex_);
  size_t ended_bytes_ WEIR_GUARDED_BY(mutex_) = 0;
  bool closed_ WEIR_GUARDED_BY(mutex_) = false;
};

// Returns tracer->Begin(args…), or an empty span if `tracer` is null, which means that tracing is off (the default).
template <typename... Args>
Span BeginSpan(Tracer* tracer, Args&&... args) {
  if (tracer == nullptr) [[likely]]
    return {};
  return tracer->Begin(std::forward<Args>(args)...);
}

}  // namespace weir
