// Reads spans for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "relay/observe/trace/span.h"

namespace weir {

inline const SpanData* Find(const std::vector<SpanData>& spans, std::string_view name) {
  const auto found = std::ranges::find(spans, name, &SpanData::name);
  return found == spans.end() ? nullptr : &*found;
}

// Returns the attribute as text; "" if it is not set.
inline std::string Get(const SpanData& span, std::string_view key) {
  for (const auto& [name, value] : span.attributes) {
    if (name != key) continue;
    const auto* number = std::get_if<int64_t>(&value);
    return number != nullptr ? std::to_string(*number) : std::get<std::string>(value);
  }
  return "";
}

// Returns the root spans with the names of their children, in the order of their beginning: "EVENT(write gate,
// commit)".
inline std::string Trees(std::vector<SpanData> spans) {
  std::ranges::stable_sort(spans, {}, &SpanData::begin);
  std::string text;
  for (const SpanData& root : spans) {
    if (root.parent != SpanId{} && !root.parent_is_remote) continue;
    std::string children;
    for (const SpanData& child : spans) {
      if (child.parent == root.id && child.trace == root.trace)
        children += (children.empty() ? "" : ", ") + std::string(child.name);
    }
    text += (text.empty() ? "" : " ") + std::string(root.name) + (children.empty() ? "" : "(" + children + ")");
  }
  return text;
}

}  // namespace weir
