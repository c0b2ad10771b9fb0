#include "relay/observe/trace/trace_ids.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "config/text/hex.h"

namespace weir {
namespace {

// The specification allows no id of all zeros.
template <typename Id>
Id NewId() {
  Id id{};
  for (size_t at = 0; at < id.size(); at += sizeof(uint64_t)) {
    uint64_t bits = 0;
    while (bits == 0) bits = RandomBits();
    std::memcpy(id.data() + at, &bits, sizeof bits);
  }
  return id;
}

template <typename Id>
bool Read(std::string_view hex, Id* id) {
  return FromHex(hex, id->data(), id->size()) && *id != Id{};
}

}  // namespace

// The generator is SplitMix64.
uint64_t RandomBits() {
  thread_local uint64_t state = [] {
    std::random_device device;
    return (uint64_t{device()} << 32) | device();
  }();
  uint64_t bits = state += 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

TraceId NewTraceId() { return NewId<TraceId>(); }
SpanId NewSpanId() { return NewId<SpanId>(); }

// An example of the field is 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.
std::optional<TraceParent> ParseTraceParent(std::string_view text) {
  constexpr size_t kLength = 55;
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  uint8_t version = 0;
  uint8_t flags = 0;
  TraceParent parent;
  if (!FromHex(text.substr(0, 2), &version, 1) || !Read(text.substr(3, 32), &parent.trace) ||
      !Read(text.substr(36, 16), &parent.span) || !FromHex(text.substr(53, 2), &flags, 1))
    return std::nullopt;
  const bool is_longer = text.size() > kLength;
  if (version == 0xff || (is_longer && (version == 0 || text[kLength] != '-'))) return std::nullopt;
  parent.sampled = (flags & 1) != 0;
  return parent;
}

}  // namespace weir
