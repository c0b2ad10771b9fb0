#include "relay/nostr/event_parser.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "relay/nostr/canonical.h"
#include "relay/nostr/event_reader.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

constexpr size_t kMostRecordBytes = size_t{1} << 31;  // so that lengths in a record fit into four bytes

// Hashes NIP-01's [0,pubkey,created_at,kind,tags,content]. `tags` and `content` must be in canonical form.
EventId HashCanonical(const EventFields& fields, std::string_view tags, std::string_view content,
                      Sha256Hasher* hasher) {
  std::array<char, 128> head;
  char* at = head.data();
  const auto put = [&at](std::string_view text) { at = std::copy(text.begin(), text.end(), at); };
  const auto put_number = [&at](uint64_t number) { at = std::to_chars(at, at + 20, number).ptr; };
  put("[0,\"");
  put(fields.pubkey_hex);
  put("\",");
  put_number(fields.created_at);
  put(",");
  put_number(fields.kind);
  put(",");
  hasher->Start();
  hasher->Add({head.data(), static_cast<size_t>(at - head.data())});
  hasher->Add(tags);
  hasher->Add(",");
  hasher->Add(content);
  hasher->Add("]");
  return hasher->Finish();
}

EventId HashRewritten(const EventFields& fields, ControlForm form, std::string* scratch, Sha256Hasher* hasher) {
  scratch->clear();
  AppendCanonical(fields.tags, form, scratch);
  const size_t tags_size = scratch->size();
  AppendCanonical(fields.content.quoted(), form, scratch);
  const std::string_view all = *scratch;
  return HashCanonical(fields, all.substr(0, tags_size), all.substr(tags_size), hasher);
}

}  // namespace

struct EventParser::Buffers {
  std::string tag_bytes;
  std::vector<JsonGap> gaps;
  std::string canonical;
  Sha256Hasher hasher;

  EventId Hash(const EventFields& fields);
  std::string Record(std::string_view json, const EventFields& fields) const;
};

// Returns the event's own id if it is right, else the id that it should have.
EventId EventParser::Buffers::Hash(const EventFields& fields) {
  const EventId id = fields.canonical ? HashCanonical(fields, fields.tags, fields.content.quoted(), &hasher)
                                      : HashRewritten(fields, ControlForm::kEscaped, &canonical, &hasher);
  if (id == fields.id || !fields.controls) return id;
  const EventId verbatim = HashRewritten(fields, ControlForm::kVerbatim, &canonical, &hasher);
  return verbatim == fields.id ? verbatim : id;
}

std::string EventParser::Buffers::Record(std::string_view json, const EventFields& fields) const {
  size_t json_size = json.size();
  auto signature = static_cast<uint32_t>(fields.signature_hex.data() - json.data());
  for (const JsonGap& gap : gaps) {
    const auto size = static_cast<uint32_t>(gap.end - gap.begin);
    json_size -= size;
    if (gap.begin < fields.signature_hex.data()) signature -= size;
  }
  std::array<char, RecordLayout::kTags> head;
  const auto put = [&head](size_t offset, const auto& value) {
    std::memcpy(head.data() + offset, &value, sizeof(value));
  };
  put(RecordLayout::kId, fields.id);
  put(RecordLayout::kPubkey, fields.pubkey);
  put(RecordLayout::kCreatedAt, fields.created_at);
  put(RecordLayout::kExpiration, fields.expiration);
  put(RecordLayout::kKind, fields.kind);
  put(RecordLayout::kFlags, fields.is_protected ? RecordLayout::kProtected : uint16_t{0});
  put(RecordLayout::kSignature, signature);
  put(RecordLayout::kTagBytes, static_cast<uint32_t>(tag_bytes.size()));

  std::string record;
  record.reserve(head.size() + tag_bytes.size() + json_size);
  record.append(head.data(), head.size());
  record.append(tag_bytes);
  const char* at = json.data();
  for (const JsonGap& gap : gaps) {
    record.append(at, gap.begin);
    at = gap.end;
  }
  record.append(at, json.data() + json.size());
  return record;
}

EventParser::EventParser(const EventLimits& limits) : limits_(limits), buffers_(std::make_unique<Buffers>()) {
  limits_.max_bytes = std::min(limits_.max_bytes, kMostRecordBytes);
}
EventParser::~EventParser() = default;
EventParser::EventParser(EventParser&&) noexcept = default;

Result<Event> EventParser::Parse(std::string_view json) {
  if (json.size() > kMostRecordBytes) return Status::Error("an event must be smaller than 2 GiB");
  if (!simdjson::validate_utf8(json.data(), json.size())) return Status::Error("an event must be valid UTF-8");
  Buffers& buffers = *buffers_;
  buffers.tag_bytes.clear();
  buffers.gaps.clear();
  EventFields fields;
  EventReader reader(json, limits_, &buffers.tag_bytes, &buffers.gaps);
  if (!reader.Read(&fields)) return Status::Error(reader.error());

  size_t size = json.size();
  for (const JsonGap& gap : buffers.gaps) size -= static_cast<size_t>(gap.end - gap.begin);
  if (size > limits_.max_bytes) {
    return Status::Error("an event must be at most " + std::to_string(limits_.max_bytes) + " bytes long, not " +
                         std::to_string(size));
  }
  const EventId id = buffers.Hash(fields);
  if (id != fields.id) {
    return Status::Error("id must be the hash of the event, " + ToHex(id) + ", not " + ToHex(fields.id));
  }
  return Event(buffers.Record(json, fields));
}

std::string_view FindId(std::string_view json) {
  int depth = 0;
  const auto skip_space = [json](size_t i) { return std::min(json.find_first_not_of(" \t\r\n", i), json.size()); };
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != '"') continue;
    const size_t begin = i + 1;
    for (i = begin; i < json.size() && json[i] != '"'; ++i) {
      if (json[i] == '\\') ++i;
    }
    if (depth != 1 || i >= json.size() || json.substr(begin, i - begin) != "id") continue;
    const size_t colon = skip_space(i + 1);
    if (colon == json.size() || json[colon] != ':') continue;
    const size_t quote = skip_space(colon + 1);
    const std::string_view value = json.substr(std::min(quote + 1, json.size()), 65);
    if (quote < json.size() && json[quote] == '"' && value.size() == 65 && value.back() == '"' &&
        std::all_of(value.begin(), value.end() - 1, [](char digit) { return HexDigit(digit) >= 0; })) {
      return value.substr(0, 64);
    }
  }
  return {};
}

}  // namespace weir
