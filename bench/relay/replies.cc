#include "bench/relay/replies.h"

#include <array>
#include <cstring>

namespace weir {
namespace {

// Reads the items of one JSON array from left to right. Anything that does not fit yields empty views.
class Items {
 public:
  explicit Items(std::string_view text) : rest_(text) { Skip('['); }

  // Reads a string without its quotes.
  std::string_view String() {
    SkipBlanks();
    if (rest_.empty() || rest_.front() != '"') return {};
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) return {};
    const std::string_view item = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    Skip(',');
    return item;
  }

  bool Truth() {
    SkipBlanks();
    const bool truth = rest_.starts_with("true");
    const size_t comma = rest_.find(',');
    rest_.remove_prefix(comma == std::string_view::npos ? rest_.size() : comma + 1);
    return truth;
  }

  std::string_view Rest() {
    SkipBlanks();
    return rest_;
  }

 private:
  void SkipBlanks() {
    while (!rest_.empty() &&
           (rest_.front() == ' ' || rest_.front() == '\n' || rest_.front() == '\t' || rest_.front() == '\r'))
      rest_.remove_prefix(1);
  }
  void Skip(char c) {
    SkipBlanks();
    if (!rest_.empty() && rest_.front() == c) rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

ReplyKind KindOf(std::string_view verb) {
  if (verb == "OK") return ReplyKind::kOk;
  if (verb == "EVENT") return ReplyKind::kEvent;
  if (verb == "EOSE") return ReplyKind::kEose;
  if (verb == "CLOSED") return ReplyKind::kClosed;
  if (verb == "NOTICE") return ReplyKind::kNotice;
  if (verb == "AUTH") return ReplyKind::kAuth;
  if (verb == "COUNT") return ReplyKind::kCount;
  return ReplyKind::kOther;
}

constexpr std::array<int8_t, 256> kHexValues = [] {
  std::array<int8_t, 256> values{};
  for (auto& v : values) v = -1;
  for (int i = 0; i < 10; ++i) values['0' + i] = static_cast<int8_t>(i);
  for (int i = 0; i < 6; ++i) values['a' + i] = static_cast<int8_t>(10 + i);
  return values;
}();

// Finds the id in JSON with blanks between its tokens.
std::string_view IdAmongBlanks(std::string_view event) {
  constexpr std::string_view kKey = "\"id\"", kBlanks = " \t\r\n";
  for (size_t at = event.find(kKey); at != std::string_view::npos; at = event.find(kKey, at + 1)) {
    size_t next = event.find_first_not_of(kBlanks, at + kKey.size());
    if (next == std::string_view::npos || event[next] != ':') continue;
    next = event.find_first_not_of(kBlanks, next + 1);
    if (next == std::string_view::npos || event[next] != '"') continue;
    event.remove_prefix(next + 1);
    return event.substr(0, event.find('"'));
  }
  return {};
}

}  // namespace

Reply ParseReply(std::string_view message) {
  Items items(message);
  Reply reply{.kind = KindOf(items.String())};
  switch (reply.kind) {
    case ReplyKind::kOk:
      reply.subject = items.String();
      reply.accepted = items.Truth();
      reply.text = items.String();
      break;
    case ReplyKind::kEvent:
      reply.subject = items.String();
      reply.event = items.Rest();
      break;
    case ReplyKind::kClosed:
      reply.subject = items.String();
      reply.text = items.String();
      break;
    case ReplyKind::kEose:
    case ReplyKind::kCount:
      reply.subject = items.String();
      break;
    case ReplyKind::kNotice:
      reply.text = items.String();
      break;
    case ReplyKind::kAuth:
    case ReplyKind::kOther:
      break;
  }
  return reply;
}

// Finds only the key: within a string a quote is escaped, and a string that is a value has no colon after it. Uses
// memmem for its speed, because some relays put the content first, and five hundred results have 350 KB.
std::string_view IdOfEvent(std::string_view event) {
  constexpr std::string_view kKey = "\"id\":\"";
  if (const void* found = memmem(event.data(), event.size(), kKey.data(), kKey.size()); found != nullptr) {
    event.remove_prefix(static_cast<size_t>(static_cast<const char*>(found) - event.data()) + kKey.size());
    return event.substr(0, event.find('"'));
  }
  return IdAmongBlanks(event);
}

bool IdPrefix(std::string_view hex, uint64_t* prefix) {
  if (hex.size() < 16) return false;
  uint64_t value = 0;
  for (size_t i = 0; i < 16; ++i) {
    const int8_t digit = kHexValues[static_cast<uint8_t>(hex[i])];
    if (digit < 0) return false;
    value = value << 4 | static_cast<uint64_t>(digit);
  }
  *prefix = value;
  return true;
}

std::string_view ReasonPrefix(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0 || text.find(' ') < colon) return "other";
  return text.substr(0, colon);
}

}  // namespace weir
