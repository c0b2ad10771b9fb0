// Reads the messages of a relay to a client (NIP-01, 42 and 77), for programs that are clients of another relay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/status.h"

namespace weir {

struct RelayMessage {
  // kOther: a message that this program does not know, such as COUNT.
  enum class Kind : uint8_t { kEvent, kOk, kEose, kClosed, kNotice, kAuth, kNegMsg, kNegErr, kOther };

  Kind kind = Kind::kOther;
  std::string subject;     // the subscription; the event's id of an OK; empty for NOTICE and AUTH
  bool accepted = false;   // the verdict of an OK
  std::string_view event;  // the JSON of an EVENT's event, not checked; points into the message
  std::string text;        // the reason of an OK, CLOSED or NEG-ERR, a NOTICE, a challenge, or the hex of a NEG-MSG
};

// Returns an error if the text is not a JSON array that begins with a string, or if an element that the kind must have
// is missing or wrong. A reason may be missing. Ignores further elements.
Result<RelayMessage> ParseRelayMessage(std::string_view text);

}  // namespace weir
