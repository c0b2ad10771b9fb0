// Span: a stretch of work for one request, as OpenTelemetry shows it. It begins when it is made, and ends with End or
// when its last copy dies.
//
//   Span span = BeginSpan(tracer, "EVENT", SpanKind::kServer, received);   // mostly empty: not sampled
//   {
//     const Span wait = span.Child("write gate");
//     …
//   }
//   span.Set("weir.outcome", "rate-limited");
//
// An empty span does nothing, and asking it costs a branch. No function throws: if memory runs out, a span or an
// attribute is missing. A span is bounded: it has at most 16 children, and texts of at most 64 characters. Names and
// keys are literals. Values are the program's own words and numbers, nothing that a client sent: spans leave this
// machine.
//
// Threads: a span and its copies belong to one thread at a time. A span may outlive the object that began it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/clock.h"
#include "relay/trace/trace_ids.h"

namespace weir {

class Tracer;

enum class SpanKind : uint8_t { kInternal = 1, kServer = 2 };  // OTLP's numbers

// The data of a span that is exported.
struct SpanData {
  TraceId trace{};
  SpanId id{};
  SpanId parent{};  // all zero: none
  bool parent_is_remote = false;
  bool failed = false;
  SpanKind kind = SpanKind::kInternal;
  std::string_view name;
  TimePoint begin{};
  TimePoint end{};
  std::vector<std::pair<std::string_view, std::variant<int64_t, std::string>>> attributes;
};

class Span {
 public:
  static constexpr size_t kMostChildren = 16;
  static constexpr size_t kMostText = 64;

  Span() = default;  // empty
  // Made by a tracer, which has made room for it.
  Span(std::shared_ptr<Tracer> tracer, SpanData data);

  explicit operator bool() const noexcept { return open_ != nullptr; }

  // Begins a child now. It is empty if this span is empty, has ended or has kMostChildren, or if the tracer has no
  // room.
  Span Child(std::string_view name) const noexcept { return open_ ? BeginChild(name) : Span(); }
  void Set(std::string_view key, int64_t value) const noexcept;
  // Other characters than printable ASCII become '?'.
  void Set(std::string_view key, std::string_view text) const noexcept;
  // Marks a fault of the program or the machine, not of a client.
  void Fail() const noexcept;
  // Ends the span, for all its copies.
  void End() noexcept {
    if (open_) EndOpen();
  }

 private:
  struct Open;

  Span BeginChild(std::string_view name) const noexcept;
  void EndOpen() noexcept;

  std::shared_ptr<Open> open_;
};

}  // namespace weir
