#include "relay/nostr/event_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "config/text/json_unescape.h"

namespace weir {
namespace {

enum Field : size_t { kId, kPubkey, kCreatedAt, kKind, kTags, kContent, kSignature, kFields };
constexpr std::array<std::string_view, kFields> kNames = {"id",   "pubkey",  "created_at", "kind",
                                                          "tags", "content", "sig"};

// Returns the number of the field, or kFields if NIP-01 defines no field of this name.
size_t FieldOf(std::string_view name) {
  size_t field = 0;
  while (field < kFields && kNames[field] != name) ++field;
  return field;
}

std::string TagPlace(size_t index) { return "tags[" + std::to_string(index) + "]"; }
std::string ItemPlace(size_t index, size_t item) { return TagPlace(index) + "[" + std::to_string(item) + "]"; }

}  // namespace

bool EventReader::Fail(std::string error) {
  error_ = std::move(error);
  return false;
}

bool EventReader::Read(EventFields* fields) {
  fields_ = fields;
  if (in_.Peek() != '{') return Fail("an event must be a JSON object, not " + in_.Found());
  in_.Take('{');
  if (!ReadFields()) return error_.empty() ? Fail(in_.error()) : false;
  if (!in_.AtEnd()) return Fail("nothing may follow the event's object, but there is " + in_.Found());
  return true;
}

bool EventReader::ReadFields() {
  unsigned seen = 0;
  bool first = true;
  while (true) {
    const auto gaps_before = static_cast<std::ptrdiff_t>(gaps_.size());
    const char* const before = in_.at();
    const JsonScanner::Step step = in_.NextItem('}', &first);
    if (step == JsonScanner::Step::kError) return false;
    if (step == JsonScanner::Step::kEnd) break;
    in_.Peek();
    const auto gaps_at_name = static_cast<std::ptrdiff_t>(gaps_.size());
    const char* const begin = in_.at();
    JsonString name;
    if (!in_.ReadName(&name)) return false;
    const size_t field = FieldOf(Meaning(name));
    if (field == kFields) {
      if (!in_.SkipValue()) return false;
      gaps_.erase(gaps_.begin() + gaps_before, gaps_.end());
      gaps_.push_back({before, in_.at()});
      continue;
    }
    if (seen == 0 && before != begin) {  // leaves out the comma behind an omitted field
      const auto gap = gaps_.erase(gaps_.begin() + gaps_before, gaps_.begin() + gaps_at_name);
      gaps_.insert(gap, {before, begin});
    }
    if ((seen & 1U << field) != 0) return Fail("the field " + std::string(kNames[field]) + " must be there only once");
    seen |= 1U << field;
    if (!ReadField(field)) return false;
  }
  for (size_t field = 0; field < kFields; ++field) {
    if ((seen & 1U << field) == 0) return Fail("the field " + std::string(kNames[field]) + " is missing");
  }
  return true;
}

bool EventReader::ReadField(size_t field) {
  switch (field) {
    case kId:
      return ReadHex(field, fields_->id.data(), fields_->id.size(), nullptr);
    case kPubkey:
      return ReadHex(field, fields_->pubkey.data(), fields_->pubkey.size(), &fields_->pubkey_hex);
    case kSignature: {
      Signature signature;  // not kept, because the record has the signature only in its JSON
      return ReadHex(field, signature.data(), signature.size(), &fields_->signature_hex);
    }
    case kCreatedAt:
      return ReadNumber(field, INT64_MAX, &fields_->created_at);
    case kKind: {
      uint64_t kind = 0;
      if (!ReadNumber(field, UINT16_MAX, &kind)) return false;
      fields_->kind = static_cast<uint16_t>(kind);
      return true;
    }
    case kTags:
      return ReadTags();
    default:
      return ReadContent();
  }
}

bool EventReader::ReadHex(size_t field, uint8_t* bytes, size_t size, std::string_view* hex) {
  const bool is_string = in_.Peek() == '"';
  const char* const begin = in_.at();
  JsonString string;
  if (is_string && !in_.ReadString(&string)) return Fail(std::string(kNames[field]) + " " + in_.error());
  if (is_string && FromHex(string.raw, bytes, size)) {
    if (hex != nullptr) *hex = string.raw;
    return true;
  }
  in_.BackTo(begin);
  return Fail(std::string(kNames[field]) + " must be " + std::to_string(size * 2) +
              " lower-case hexadecimal digits, not " + in_.Found());
}

bool EventReader::ReadNumber(size_t field, uint64_t most, uint64_t* number) {
  in_.Peek();
  const char* const begin = in_.at();
  if (in_.ReadWhole(number) && *number <= most) return true;
  in_.BackTo(begin);
  return Fail(std::string(kNames[field]) + " must be a whole number from 0 to " + std::to_string(most) + ", not " +
              in_.Found());
}

bool EventReader::ReadTags() {
  if (in_.Peek() != '[') return Fail("tags must be an array of arrays of strings, not " + in_.Found());
  const char* const begin = in_.at();
  const size_t gaps_before = gaps_.size();
  in_.Take('[');
  bool first = true;
  for (size_t index = 0;; ++index) {
    const JsonScanner::Step step = in_.NextItem(']', &first);
    if (step == JsonScanner::Step::kError) return false;
    if (step == JsonScanner::Step::kEnd) break;
    if (index == limits_.max_tags)
      return Fail("tags must be at most " + std::to_string(limits_.max_tags) + ", not more");
    if (!ReadTag(index)) return false;
  }
  fields_->tags = {begin, static_cast<size_t>(in_.at() - begin)};
  fields_->canonical &= gaps_.size() == gaps_before;
  return true;
}

bool EventReader::ReadTag(size_t index) {
  if (in_.Peek() != '[') return Fail(TagPlace(index) + " must be an array of strings, not " + in_.Found());
  in_.Take('[');
  JsonString name;
  JsonString value;
  JsonString rest;
  bool first = true;
  for (size_t item = 0;; ++item) {
    const JsonScanner::Step step = in_.NextItem(']', &first);
    if (step == JsonScanner::Step::kError) return false;
    if (step == JsonScanner::Step::kEnd) {
      if (item == 0) return Fail(TagPlace(index) + " must have one string or more");
      break;
    }
    if (!ReadTagItem(index, item, item == 0 ? &name : item == 1 ? &value : &rest)) return false;
  }
  NoteTag(name, value);
  return true;
}

bool EventReader::ReadTagItem(size_t index, size_t item_index, JsonString* item) {
  if (!in_.ReadString(item)) return Fail(ItemPlace(index, item_index) + " " + in_.error());
  fields_->canonical &= item->canonical;
  fields_->controls |= item->controls;
  if (!LongerThan(limits_.max_tag_bytes, *item)) return true;
  return Fail(ItemPlace(index, item_index) + " must be at most " + std::to_string(limits_.max_tag_bytes) +
              " bytes long, not " + std::to_string(Meaning(*item).size()));
}

// `value.raw.data()` is null if the tag has no value.
void EventReader::NoteTag(const JsonString& name, const JsonString& value) {
  const std::string_view text = Meaning(name);
  if (text == "-") fields_->is_protected = true;
  if (value.raw.data() == nullptr) return;
  if (text == "expiration") return NoteExpiration(value);
  if (text.size() != 1 || !((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z'))) return;
  tag_bytes_.push_back(text[0]);
  const std::string_view meaning = Meaning(value);
  const auto size = static_cast<uint32_t>(meaning.size());
  tag_bytes_.append(reinterpret_cast<const char*>(&size), sizeof(size));
  tag_bytes_.append(meaning);
}

// Uses the first expiration tag whose value is a number. Ignores other values, which do not make the event invalid.
void EventReader::NoteExpiration(const JsonString& value) {
  if (fields_->expiration != 0) return;
  const std::string_view digits = Meaning(value);
  uint64_t seconds = 0;
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return;
  if (!JsonScanner(digits).ReadWhole(&seconds)) return;
  fields_->expiration = std::max<uint64_t>(seconds, 1);
}

bool EventReader::ReadContent() {
  if (!in_.ReadString(&fields_->content)) return Fail("content " + in_.error());
  fields_->canonical &= fields_->content.canonical;
  fields_->controls |= fields_->content.controls;
  if (!LongerThan(limits_.max_content_bytes, fields_->content)) return true;
  return Fail("content must be at most " + std::to_string(limits_.max_content_bytes) + " bytes long, not " +
              std::to_string(Meaning(fields_->content).size()));
}

// Returns the string without escapes. The view is valid until the next call.
std::string_view EventReader::Meaning(const JsonString& string) {
  if (!string.escaped) return string.raw;
  scratch_.clear();
  AppendUnescaped(string.raw, &scratch_);
  return scratch_;
}

bool EventReader::LongerThan(size_t most_bytes, const JsonString& string) {
  return string.raw.size() > most_bytes && Meaning(string).size() > most_bytes;
}

}  // namespace weir
