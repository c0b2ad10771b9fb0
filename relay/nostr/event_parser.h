// EventParser: parses JSON text into an Event by the rules of NIP-01, without building a tree of the JSON.
//
// EventParser checks, cheapest first, that
//  * the text is valid UTF-8 and one JSON object,
//  * it has each of the seven fields of NIP-01 once, with the right type and form (lower-case hex, whole numbers
//    without fraction or exponent, kind 0 to 65535, tags of strings),
//  * it is within the limits (EventLimits), and
//  * the id is the SHA-256 of the canonical form (canonical.h).
// EventParser does not check the signature, which costs most. A caller should first check whether the event is already
// stored, and then call VerifySignature (signature.h).
//
// EventParser also refuses some texts that JSON's grammar allows: \u0000, halves of surrogate pairs, one of the seven
// fields given twice, an empty tag (NIP-01 requires a string), escapes in hexadecimal fields, created_at beyond 2^63-1,
// and unknown fields nested more than 32 deep. It accepts both forms in which a control character may be hashed
// (canonical.h).
//
// The JSON in the record is in minimal form: the received text without white space between tokens and without fields
// that NIP-01 does not define. Values, escapes and the order of the fields are as received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "config/status.h"
#include "relay/nostr/event.h"

namespace weir {

// The largest sizes that an event may have.
struct EventLimits {
  size_t max_bytes = 128 * 1024;  // the JSON in minimal form, with its escapes; never more than 2 GiB
  size_t max_tags = 2000;
  size_t max_tag_bytes = 16 * 1024;       // each string of a tag, without escapes
  size_t max_content_bytes = 128 * 1024;  // the content without escapes
};

// Only one thread at a time may use a parser. A parser keeps its buffers, so use the same parser for many events.
class EventParser {
 public:
  explicit EventParser(const EventLimits& limits = {});
  ~EventParser();
  EventParser(EventParser&&) noexcept;

  // Returns the event, which does not refer to `json`, or an error. The error's message is the text for the client,
  // without NIP-01's prefix "invalid: ". An example is "kind must be a whole number from 0 to 65535, not 1.5". `json`
  // needs no padding behind its end.
  Result<Event> Parse(std::string_view json);

 private:
  struct Buffers;
  EventLimits limits_;
  std::unique_ptr<Buffers> buffers_;
};

// Returns the value of the outer object's first field "id" that consists of 64 hexadecimal digits of either case, or an
// empty view if there is none. The relay uses it for the OK message that refuses an event, so `json` need not be a
// valid event. The view points into `json`.
std::string_view FindId(std::string_view json);

}  // namespace weir
