#include "tests/store/plain_event.h"

#include <stdexcept>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '\n') {
      quoted += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string TagsJson(const std::vector<Tag>& tags) {
  std::string json = "[";
  for (const Tag& tag : tags) {
    if (json.size() > 1) json += ',';
    json += '[';
    for (size_t i = 0; i < tag.size(); ++i) json += (i > 0 ? "," : "") + Quoted(tag[i]);
    json += ']';
  }
  return json + ']';
}

}  // namespace

const std::string* PlainEvent::FirstTag(const std::string& name) const {
  for (const Tag& tag : tags)
    if (tag.size() >= 2 && tag[0] == name) return &tag[1];
  return nullptr;
}

std::string Author(uint64_t number) { return ToHex(Sha256("author " + std::to_string(number))); }

PlainEvent Plain(const std::string& pubkey, uint64_t created_at, uint16_t kind, std::vector<Tag> tags,
                 std::string content) {
  PlainEvent event{pubkey, created_at, kind, std::move(tags), std::move(content), ""};
  event.id = ToHex(Sha256("[0," + Quoted(event.pubkey) + "," + std::to_string(created_at) + "," + std::to_string(kind) +
                          "," + TagsJson(event.tags) + "," + Quoted(event.content) + "]"));
  return event;
}

std::string JsonOf(const PlainEvent& event) {
  return "{\"id\":" + Quoted(event.id) + ",\"pubkey\":" + Quoted(event.pubkey) +
         ",\"created_at\":" + std::to_string(event.created_at) + ",\"kind\":" + std::to_string(event.kind) +
         ",\"tags\":" + TagsJson(event.tags) + ",\"content\":" + Quoted(event.content) +
         ",\"sig\":" + Quoted(event.id + event.id) + "}";
}

Event ToEvent(const PlainEvent& event) {
  thread_local EventParser parser;
  Result<Event> parsed = parser.Parse(JsonOf(event));
  if (!parsed.ok()) throw std::logic_error(parsed.status().message() + ": " + JsonOf(event));
  return std::move(parsed).value();
}

Bytes32 ToBytes(const std::string& hex) {
  Bytes32 bytes{};
  if (!FromHex(hex, bytes.data(), bytes.size())) throw std::logic_error("not 32 bytes: " + hex);
  return bytes;
}

}  // namespace weir
