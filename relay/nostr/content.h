// Finds the content of an event.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "config/text/json_scanner.h"
#include "config/text/json_unescape.h"
#include "relay/nostr/event.h"

namespace weir {

// Returns the content without escapes.
//
// In a record's JSON, which has no white space and no field but NIP-01's, the bytes `,"content":"` (or with `{`) are
// always the field's name: the first quote follows no backslash, so it begins or ends a string; a string ends before
// one of , : ] }; and a tag is an array of strings, so no other object has fields. Only a name that is written with
// escapes is searched in the slow way.
inline std::string ContentOf(EventView event) {
  constexpr std::string_view kName = "\"content\":";
  const auto text = [](const JsonString& string) {
    std::string meaning;
    AppendUnescaped(string.raw, &meaning);
    return meaning;
  };
  const std::string_view json = event.json();
  JsonString string;
  for (const char* from = json.data(); from != nullptr;) {
    const auto left = static_cast<size_t>(json.data() + json.size() - from);
    from = static_cast<const char*>(memmem(from, left, kName.data(), kName.size()));
    if (from == nullptr) break;
    const bool is_name = from != json.data() && (from[-1] == ',' || from[-1] == '{');
    from += kName.size();
    JsonScanner in(json.substr(static_cast<size_t>(from - json.data())));
    if (is_name) return in.ReadString(&string) ? text(string) : "";
  }
  JsonScanner in(json);
  bool first = true;
  in.Expect('{');
  while (in.NextItem('}', &first) == JsonScanner::Step::kItem) {
    if (!in.ReadName(&string)) return "";
    if (text(string) == "content") return in.ReadString(&string) ? text(string) : "";
    if (!in.SkipValue()) return "";
  }
  return "";
}

}  // namespace weir
