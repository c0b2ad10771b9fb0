// Reads a relay's messages by scanning, without a JSON parser, because the load generator shares its cores with the
// relay.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

enum class ReplyKind : uint8_t { kOk, kEvent, kEose, kClosed, kNotice, kAuth, kCount, kOther };

// A message of a relay. The views point into the message, in which JSON escapes stay as they are.
struct Reply {
  ReplyKind kind = ReplyKind::kOther;
  std::string_view subject;  // OK: the id in hex; EVENT, EOSE, CLOSED, COUNT: the subscription
  bool accepted = false;     // for OK
  std::string_view text;     // for OK, CLOSED and NOTICE
  std::string_view event;    // for EVENT: the JSON of the event, then the closing bracket of the message
};

Reply ParseReply(std::string_view message);

// Returns the value of the field "id" of an event, in any order of fields; empty if there is none.
std::string_view IdOfEvent(std::string_view event);

// Reads the first eight bytes of an id as a number, which is quick to compare. Eight bytes distinguish a hundred
// thousand events. Returns false if `hex` does not begin with sixteen hexadecimal digits.
bool IdPrefix(std::string_view hex, uint64_t* prefix);

// Returns the machine-readable prefix that NIP-01 defines ("duplicate" for "duplicate: have it"); "other" if there is
// none.
std::string_view ReasonPrefix(std::string_view text);

}  // namespace weir
