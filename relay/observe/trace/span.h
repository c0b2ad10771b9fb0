// Span: a timed part of the work for one request, in the sense of OpenTelemetry. A tracer (tracer.h) decides which
// requests are sampled (traced), and begins their spans. A span ends when End is called, or when its last copy is
// destroyed.
//
//   Span span = BeginSpan(tracer, "EVENT", SpanKind::kServer, received);   // empty if the request is not sampled
//   {
//     const Span wait = span.Child("write gate");
//     …
//   }
//   span.Set("weir.outcome", "rate-limited");
//
// The functions of an empty span do nothing and cost one branch. No function but the second constructor throws: if
// memory runs out, a span or an attribute is missing from the trace. A span has at most 16 children, and each of its
// texts has at most 64 characters. Names and keys must be literals, because a span keeps only views of them. Values
// must be words and numbers of the program, never text of a client, because spans leave this machine.
//
// Threads: only one thread at a time may use a span and its copies. A span may outlive the object that owns its tracer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "config/clock.h"
#include "relay/observe/trace/trace_ids.h"

namespace weir {

class Tracer;

enum class SpanKind : uint8_t { kInternal = 1, kServer = 2 };  // OTLP's numbers

// The exported data of a span.
struct SpanData {
  TraceId trace{};
  SpanId id{};
  SpanId parent{};                // all zero: none
  bool parent_is_remote = false;  // true if the parent is a span of the client
  bool failed = false;            // true after Span::Fail
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

  Span() = default;  // an empty span
  // Only a tracer calls this, after it has counted the span. May throw std::bad_alloc.
  Span(std::shared_ptr<Tracer> tracer, SpanData data);

  explicit operator bool() const noexcept { return open_ != nullptr; }  // false for an empty span

  // Begins a child of this span now. Returns an empty span if this span is empty, has ended or has kMostChildren
  // children, or if the tracer has no room.
  Span Child(std::string_view name) const noexcept { return open_ ? BeginChild(name) : Span(); }
  // These two functions add an attribute; after the end of the span they have no effect. A text is cut after kMostText
  // bytes, and each byte that is not printable ASCII becomes '?'.
  void Set(std::string_view key, int64_t value) const noexcept;
  void Set(std::string_view key, std::string_view text) const noexcept;
  // Marks the span as failed. Meant for faults of the program or the machine, not for a client's mistakes.
  void Fail() const noexcept;
  // Ends the span and all its copies; this object is then empty.
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
