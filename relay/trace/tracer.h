// Tracer: decides which requests are traced, and keeps the spans that have ended until somebody exports them.
//
// A request is sampled at its head, by chance, with its children or not at all. A request of HTTP that belongs to a
// trace of its caller (traceparent) is its child, and sampled where its caller has sampled it: but of all requests of
// HTTP no larger share than the ratio, and ten, so that strangers who ask for it cannot have everything traced.
//
// Spans are bounded in number, open and ended together, and those that have ended in bytes. Beyond that a span is
// dropped and counted: nobody ever waits for an exporter.
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

  // The ratio is within 0..1. Held by a shared_ptr: what has begun may outlive whoever made it.
  explicit Tracer(double ratio, const Clock& clock = Clock::System(), SpanBounds bounds = {});

  // The first span of a trace, or nothing.
  Span Begin(std::string_view name, SpanKind kind) noexcept {
    return Chance() ? BeginTrace(name, kind, clock_.Now()) : Span();
  }
  Span Begin(std::string_view name, SpanKind kind, TimePoint since) noexcept {
    return Chance() ? BeginTrace(name, kind, since) : Span();
  }
  // Of a request of HTTP with this header field, which may be empty.
  Span BeginServed(std::string_view name, std::string_view traceparent) noexcept;

  // What has ended, oldest first.
  std::vector<SpanData> TakeEnded();
  // Nobody takes them any more: what ends is dropped.
  void Close();

  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  // Ended and not taken.
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
  const uint64_t threshold_;  // of 2^53
  const Clock& clock_;
  const SpanBounds bounds_;

  std::atomic<uint64_t> spans_{0};  // open, or ended and not taken
  std::atomic<uint64_t> dropped_{0};

  mutable std::mutex mutex_;  // guards what follows
  double allowance_;          // of callers that ask to be sampled
  std::vector<SpanData> ended_;
  size_t ended_bytes_ = 0;
  bool closed_ = false;
};

// Where there may be none: tracing is off by default.
template <typename... Args>
Span BeginSpan(Tracer* tracer, Args&&... args) {
  if (tracer == nullptr) [[likely]]
    return {};
  return tracer->Begin(std::forward<Args>(args)...);
}

}  // namespace weir
