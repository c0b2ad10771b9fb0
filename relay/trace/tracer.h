// Tracer decides which requests are traced, and keeps the spans that have ended until they are exported.
//
// A request is sampled by chance when it begins, with all its children or not at all. An HTTP request that belongs to a
// trace of its caller (traceparent) is a child of it, and is sampled if its caller has sampled it. But of all HTTP
// requests, no larger share than the ratio, and kMostSaved more, are sampled because a caller asks, so that strangers
// cannot have everything traced.
//
// Spans are bounded in number, open and ended together, and ended spans in bytes as well. Beyond that a span is dropped
// and counted: no thread ever waits for an exporter.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "relay/trace/span.h"

namespace weir {

struct SpanBounds {
  size_t spans = 4096;
  size_t bytes = 2 << 20;
};

class Tracer : public std::enable_shared_from_this<Tracer> {
 public:
  static constexpr double kMostSaved = 10;

  // The ratio is within 0..1. The tracer must be held by a shared_ptr: its spans may outlive the object that made it.
  explicit Tracer(double ratio, const Clock& clock = Clock::System(), SpanBounds bounds = {});

  // Begins the first span of a trace; an empty one if it is not sampled.
  Span Begin(std::string_view name, SpanKind kind) noexcept {
    return Chance() ? BeginTrace(name, kind, clock_.Now()) : Span();
  }
  Span Begin(std::string_view name, SpanKind kind, TimePoint since) noexcept {
    return Chance() ? BeginTrace(name, kind, since) : Span();
  }
  // Begins the span of an HTTP request with this header field, which may be empty.
  Span BeginServed(std::string_view name, std::string_view traceparent) noexcept;

  // Takes the spans that have ended, oldest first.
  std::vector<SpanData> TakeEnded();
  // Drops every span that ends from now on, because none is taken any more.
  void Close();

  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  // The number of spans that have ended and were not taken.
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
  const uint64_t threshold_;  // the ratio, in parts of 2^53
  const Clock& clock_;
  const SpanBounds bounds_;

  std::atomic<uint64_t> spans_{0};  // open, or ended and not taken
  std::atomic<uint64_t> dropped_{0};

  mutable std::mutex mutex_;  // guards what follows
  double allowance_;          // for callers that ask to be sampled
  std::vector<SpanData> ended_;
  size_t ended_bytes_ = 0;
  bool closed_ = false;
};

// Begins a span; an empty one if there is no tracer: tracing is off by default.
template <typename... Args>
Span BeginSpan(Tracer* tracer, Args&&... args) {
  if (tracer == nullptr) [[likely]]
    return {};
  return tracer->Begin(std::forward<Args>(args)...);
}

}  // namespace weir
