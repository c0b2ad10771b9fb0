// Parses JSON text into an Event, exactly as NIP-01 says, without building a tree of the JSON.
//
// EventParser checks, cheapest first: the text is valid UTF-8 and one JSON object; it has each of the seven fields of
// NIP-01 once, with the right type and form (lower-case hex, whole numbers without fraction or exponent, kind 0 to
// 65535, tags of strings); it is within the limits (EventLimits); the id is the SHA-256 of the canonical form
// (canonical.h). It does not check the signature, which costs most: a caller first looks whether the event is stored
// already, then calls VerifySignature (signature.h).
//
// EventParser also refuses some texts that JSON's grammar allows: \u0000 and halves of surrogate pairs, a field given
// twice, an empty tag (NIP-01: one string or more), escapes in hexadecimal fields, created_at beyond 2^63-1, unknown
// fields nested deeper than 32. It accepts both forms in which a control character may have been hashed (canonical.h).
//
// The JSON in the record is in minimal form: the received text without white space between tokens and without fields
// that NIP-01 does not know. Values, escapes and the order of the fields stay as they were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "config/status.h"
#include "relay/nostr/event.h"

namespace weir {

// The largest sizes of an event that the parser accepts.
struct EventLimits {
  size_t max_bytes = 128 * 1024;  // JSON in minimal form, escapes as written; never more than 2 GiB
  size_t max_tags = 2000;
  size_t max_tag_bytes = 16 * 1024;       // a single string of a tag, without escapes
  size_t max_content_bytes = 128 * 1024;  // without escapes
};

// Only one thread at a time may use a parser. A parser keeps its buffers, so use the same parser for many events.
class EventParser {
 public:
  explicit EventParser(const EventLimits& limits = {});
  ~EventParser();
  EventParser(EventParser&&) noexcept;

  // Returns the event, which does not refer to `json`, or an error. The error's message is the text of the relay's
  // answer to the client without NIP-01's prefix ("invalid: "), such as "kind must be a whole number from 0 to 65535,
  // not 1.5". `json` needs no padding behind its end.
  Result<Event> Parse(std::string_view json);

 private:
  struct Buffers;
  EventLimits limits_;
  std::unique_ptr<Buffers> buffers_;
};

// Returns the 64 hexadecimal digits of the first field "id" that has them, for the OK message that refuses an event.
// Returns an empty view if there is no such field. `json` need not be a valid event; the digits may be of either case.
// The view points into `json`.
std::string_view FindId(std::string_view json);

}  // namespace weir
