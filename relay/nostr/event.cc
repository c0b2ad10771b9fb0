#include "relay/nostr/event.h"

#include "config/text/json_scanner.h"
#include "config/text/json_unescape.h"

namespace weir {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

std::string Text(const JsonString& string) {
  std::string text;
  AppendUnescaped(string.raw, &text);
  return text;
}

// Reads the tag at the scanner's position, and adds it to `found` if its name is `name`.
void ReadTagNamed(std::string_view name, JsonScanner* in, std::vector<std::vector<std::string>>* found) {
  std::vector<std::string> tag;
  bool first = true;
  JsonString item;
  in->Expect('[');
  while (in->NextItem(']', &first) == JsonScanner::Step::kItem && in->ReadString(&item)) tag.push_back(Text(item));
  if (!tag.empty() && tag.front() == name) found->push_back(std::move(tag));
}

}  // namespace

KindClass ClassOf(uint16_t kind) {
  if (kind == 0 || kind == 3 || (kind >= 10000 && kind < 20000)) return KindClass::kReplaceable;
  if (kind >= 20000 && kind < 30000) return KindClass::kEphemeral;
  if (kind >= 30000 && kind < 40000) return KindClass::kAddressable;
  return KindClass::kRegular;
}

bool EventView::WellFormed(std::string_view record) {
  if (record.size() < RecordLayout::kTags) return false;
  const EventView view(record);
  const size_t tag_bytes = view.Head<uint32_t>(RecordLayout::kTagBytes);
  if (record.size() - RecordLayout::kTags < tag_bytes) return false;
  std::string_view tags = record.substr(RecordLayout::kTags, tag_bytes);
  while (!tags.empty()) {
    if (tags.size() < RecordLayout::kTagHead || !IsLetter(tags[0])) return false;
    const size_t size = RecordLayout::kTagHead + Load<uint32_t>(tags.data() + 1);
    if (tags.size() < size) return false;
    tags.remove_prefix(size);
  }
  const std::string_view json = view.json();
  const size_t signature = view.Head<uint32_t>(RecordLayout::kSignature);
  return json.starts_with('{') && json.ends_with('}') && json.size() >= 128 && signature <= json.size() - 128;
}

Signature EventView::signature() const {
  Signature bytes{};
  FromHex(json().substr(Head<uint32_t>(RecordLayout::kSignature), 128), bytes.data(), bytes.size());
  return bytes;
}

std::string_view EventView::FirstTag(char letter) const {
  for (const TagView tag : tags()) {
    if (tag.letter == letter) return tag.value;
  }
  return {};
}

std::vector<std::vector<std::string>> TagsNamed(EventView event, std::string_view name) {
  std::vector<std::vector<std::string>> found;
  JsonScanner in(event.json());
  bool first = true;
  in.Expect('{');
  while (in.NextItem('}', &first) == JsonScanner::Step::kItem) {
    JsonString field;
    if (!in.ReadName(&field)) return found;
    if (Text(field) != "tags") {
      if (!in.SkipValue()) return found;
      continue;
    }
    bool first_tag = true;
    in.Expect('[');
    while (in.NextItem(']', &first_tag) == JsonScanner::Step::kItem && in.Peek() == '[') {
      ReadTagNamed(name, &in, &found);
    }
    return found;
  }
  return found;
}

}  // namespace weir
