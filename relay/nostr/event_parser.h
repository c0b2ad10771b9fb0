// Parses JSON text into an Event, exactly as NIP-01 says, without a DOM.
//
// EventParser checks, cheapest first: the text is one JSON object in valid UTF-8; it has each of the seven fields once,
// with the right type and form (lower-case hex, whole numbers written as such, kind 0..65535, tags of strings); the
// limits; the id is the SHA-256 of the canonical form. It does not check the signature: a caller first looks whether it
// has the event already, then calls VerifySignature.
//
// It also refuses what JSON's grammar allows: \u0000 and halves of surrogate pairs, a field given twice, an empty tag
// (NIP-01: one string or more), escapes in hexadecimal fields, created_at beyond 2^63-1, unknown fields nested deeper
// than 32. Control characters without a short escape may have been hashed in either form (canonical.h).
//
// The JSON in the record is the received text without white space between tokens and without fields that NIP-01 does
// not know; values, escapes and the order of the fields stay as they were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "config/status.h"
#include "relay/nostr/event.h"

namespace weir {

struct EventLimits {
  size_t max_bytes = 128 * 1024;  // JSON without white space and unknown fields, escapes as written
  size_t max_tags = 2000;
  size_t max_tag_bytes = 16 * 1024;  // a single item
  size_t max_content_bytes = 128 * 1024;
};

// Used by one thread at a time. It keeps its buffers, so use one parser per thread again and again.
class EventParser {
 public:
  explicit EventParser(const EventLimits& limits = {});
  ~EventParser();
  EventParser(EventParser&&) noexcept;

  // The error is the text of NIP-01's answer without its prefix: "kind must be a whole number from 0 to 65535, not
  // 1.5". The text need not be padded.
  Result<Event> Parse(std::string_view json);

 private:
  struct Buffers;
  EventLimits limits_;
  std::unique_ptr<Buffers> buffers_;
};

// Returns the 64 hexadecimal digits of the field "id", for the OK that refuses the event; empty if there are none. The
// text need not be a valid event.
std::string_view FindId(std::string_view json);

}  // namespace weir
