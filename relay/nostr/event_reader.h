// The first half of EventParser: reads the fields of an event from JSON and makes all checks that need no hash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/json_scanner.h"

namespace weir {

// The views point into the text that was read.
struct EventFields {
  EventId id;
  PublicKey pubkey;
  std::string_view pubkey_hex;
  std::string_view signature_hex;
  uint64_t created_at = 0;
  uint64_t expiration = 0;
  uint16_t kind = 0;
  bool is_protected = false;
  std::string_view tags;
  JsonString content;
  bool canonical = true;  // tags and content are written in canonical form
  bool controls = false;  // JsonString::controls of any string
};

class EventReader {
 public:
  // `tag_bytes` receives the tags in the record's form, `gaps` the parts of the text that minimal JSON leaves out.
  EventReader(std::string_view json, const EventLimits& limits, std::string* tag_bytes, std::vector<JsonGap>* gaps)
      : limits_(limits), tag_bytes_(*tag_bytes), gaps_(*gaps), in_(json, gaps) {}

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
