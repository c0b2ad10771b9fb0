#include "relay/observe/trace/tracer.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <utility>

namespace weir {
namespace {

size_t BytesOf(const SpanData& span) {
  size_t bytes = sizeof span + span.attributes.capacity() * sizeof span.attributes[0];
  for (const auto& [key, value] : span.attributes)
    if (const auto* text = std::get_if<std::string>(&value)) bytes += text->capacity();
  return bytes;
}

}  // namespace

Tracer::Tracer(double ratio, const Clock& clock, SpanBounds bounds)
    : ratio_(ratio),
      threshold_(static_cast<uint64_t>(std::ldexp(ratio, 53))),
      clock_(clock),
      bounds_(bounds),
      allowance_(ratio > 0 ? kMostSaved : 0) {}

Span Tracer::BeginTrace(std::string_view name, SpanKind kind, TimePoint since) noexcept {
  return Open({.trace = NewTraceId(), .kind = kind, .name = name, .begin = since});
}

// Every HTTP request adds to the allowance, and a request whose client has sampled its trace subtracts from it. If the
// client has not sampled its trace, this request is not sampled either, because its spans would belong to a trace that
// lacks the rest.
Span Tracer::BeginServed(std::string_view name, std::string_view traceparent) noexcept {
  const std::optional<TraceParent> parent = ParseTraceParent(traceparent);
  const bool sampled = parent && parent->sampled;
  const bool allowed = Allow(sampled);
  if (!parent) return Begin(name, SpanKind::kServer);
  if (!allowed) return {};
  return Open({.trace = parent->trace,
               .parent = parent->span,
               .parent_is_remote = true,
               .kind = SpanKind::kServer,
               .name = name,
               .begin = clock_.Now()});
}

bool Tracer::Allow(bool asks) {
  const MutexLock lock(mutex_);
  allowance_ = std::min(allowance_ + ratio_, kMostSaved);
  if (!asks || allowance_ < 1) return false;
  allowance_ -= 1;
  return true;
}

Span Tracer::BeginChild(const SpanData& parent, std::string_view name) noexcept {
  return Open({.trace = parent.trace, .parent = parent.id, .name = name, .begin = clock_.Now()});
}

Span Tracer::Open(SpanData data) noexcept {
  data.id = NewSpanId();
  try {
    if (spans_.fetch_add(1, std::memory_order_relaxed) < bounds_.spans) return {shared_from_this(), std::move(data)};
  } catch (const std::bad_alloc&) {
  }
  Drop();
  return {};
}

void Tracer::Drop() {
  spans_.fetch_sub(1, std::memory_order_relaxed);
  dropped_.fetch_add(1, std::memory_order_relaxed);
}

void Tracer::Take(SpanData span) noexcept {
  span.end = clock_.Now();
  const size_t bytes = BytesOf(span);
  const MutexLock lock(mutex_);
  try {
    if (closed_ || ended_bytes_ + bytes > bounds_.bytes) return Drop();
    ended_.push_back(std::move(span));
    ended_bytes_ += bytes;
  } catch (const std::bad_alloc&) {
    Drop();
  }
}

std::vector<SpanData> Tracer::TakeEnded() {
  std::vector<SpanData> taken;
  const MutexLock lock(mutex_);
  taken.swap(ended_);
  ended_bytes_ = 0;
  spans_.fetch_sub(taken.size(), std::memory_order_relaxed);
  return taken;
}

void Tracer::Close() {
  const MutexLock lock(mutex_);
  closed_ = true;
}

uint64_t Tracer::waiting() const {
  const MutexLock lock(mutex_);
  return ended_.size();
}

}  // namespace weir
