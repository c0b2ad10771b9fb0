// EventReader: the first half of EventParser (event_parser.h). It reads the fields of an event from JSON and checks
// them. EventParser itself checks the UTF-8, EventLimits::max_bytes and the id.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/text/json_scanner.h"
#include "relay/nostr/event_parser.h"

namespace weir {

// The fields of an event. The views point into the text that was read.
struct EventFields {
  EventId id;
  PublicKey pubkey;
  std::string_view pubkey_hex;
  std::string_view signature_hex;
  uint64_t created_at = 0;
  uint64_t expiration = 0;  // see EventView::expiration
  uint16_t kind = 0;
  bool is_protected = false;
  std::string_view tags;  // the JSON array
  JsonString content;
  bool canonical = true;  // true if tags and content are written in canonical form (canonical.h)
  bool controls = false;  // true if JsonString::controls is true for the content or for a string of a tag
};

// Make one reader for each event.
class EventReader {
 public:
  // `json` must be valid UTF-8. Read appends to `tag_bytes` the tags that a record has, in its form (event.h), and to
  // `gaps` the pieces of `json` that the minimal form omits. The text of `json` and the other arguments must outlive
  // the reader.
  EventReader(std::string_view json, const EventLimits& limits, std::string* tag_bytes, std::vector<JsonGap>* gaps)
      : limits_(limits), tag_bytes_(*tag_bytes), gaps_(*gaps), in_(json, gaps) {}

  // Fills `fields` and returns true. If the event is refused, returns false; then error() says why, and `fields`,
  // `tag_bytes` and `gaps` are incomplete. Call it once.
  bool Read(EventFields* fields);
  const std::string& error() const { return error_; }

 private:
  bool ReadFields();
  bool ReadField(size_t field);
  bool ReadHex(size_t field, uint8_t* bytes, size_t size, std::string_view* hex);
  bool ReadNumber(size_t field, uint64_t most, uint64_t* number);
  bool ReadTags();
  bool ReadTag(size_t index);
  bool ReadTagItem(size_t index, size_t item_index, JsonString* item);
  bool ReadContent();
  void NoteTag(const JsonString& name, const JsonString& value);
  void NoteExpiration(const JsonString& value);
  std::string_view Meaning(const JsonString& string);
  bool LongerThan(size_t most_bytes, const JsonString& string);
  bool Fail(std::string error);

  const EventLimits& limits_;
  std::string& tag_bytes_;
  std::vector<JsonGap>& gaps_;
  JsonScanner in_;
  EventFields* fields_ = nullptr;
  std::string scratch_;
  std::string error_;
};

}  // namespace weir
