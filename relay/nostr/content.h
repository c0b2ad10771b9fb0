// Finds the content of an event.
#pragma once

#include <string>

#include "config/text/json_scanner.h"
#include "config/text/json_unescape.h"
#include "relay/nostr/event.h"

namespace weir {

// Returns the content without escapes. This function searches the event's JSON for it, which is slow for an event with
// many tags.
inline std::string ContentOf(EventView event) {
  const auto text = [](const JsonString& string) {
    std::string meaning;
    AppendUnescaped(string.raw, &meaning);
    return meaning;
  };
  JsonScanner in(event.json());
  bool first = true;
  in.Expect('{');
  while (in.NextItem('}', &first) == JsonScanner::Step::kItem) {
    JsonString string;
    if (!in.ReadName(&string)) return "";
    if (text(string) == "content") return in.ReadString(&string) ? text(string) : "";
    if (!in.SkipValue()) return "";
  }
  return "";
}

}  // namespace weir
