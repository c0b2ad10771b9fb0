// Tells a relay's messages apart by scanning, without a JSON parser, for the generator shares its cores with the relay.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

enum class ReplyKind : uint8_t { kOk, kEvent, kEose, kClosed, kNotice, kAuth, kCount, kOther };

// Views are into the message, as the JSON has them: escapes stay.
struct Reply {
  ReplyKind kind = ReplyKind::kOther;
  std::string_view subject;  // OK: the id in hex; EVENT, EOSE, CLOSED, COUNT: the subscription
  bool accepted = false;     // OK
  std::string_view text;     // OK, CLOSED, NOTICE
  std::string_view event;    // EVENT: its JSON, and the closing bracket of the message behind it
};

Reply ParseReply(std::string_view message);

// Returns the value of the field "id" of an event, in any order of fields; empty if there is none.
std::string_view IdOfEvent(std::string_view event);

// Reads the first eight bytes of an id: enough to tell a hundred thousand events apart, and quick to compare as a
// number. Returns false if these are not at least sixteen hexadecimal digits.
bool IdPrefix(std::string_view hex, uint64_t* prefix);

// Returns NIP-01's machine-readable word, "duplicate" of "duplicate: have it", or "other" if there is none.
std::string_view ReasonPrefix(std::string_view text);

}  // namespace weir
