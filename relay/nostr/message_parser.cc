// ParseClientMessage (messages.h).
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "config/text/hex.h"
#include "config/text/json_scanner.h"
#include "config/text/json_unescape.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/filter_reader.h"
#include "relay/nostr/messages.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 8> kVerbs = {"EVENT", "REQ",      "CLOSE",   "COUNT",
                                                    "AUTH",  "NEG-OPEN", "NEG-MSG", "NEG-CLOSE"};

std::string Meaning(const JsonString& string) {
  std::string text;
  AppendUnescaped(string.raw, &text);
  return text;
}

class MessageReader {
 public:
  MessageReader(std::string_view text, const MessageLimits& limits) : text_(text), limits_(limits), in_(text) {}

  ClientMessage Read();

 private:
  // Reads the first element. Returns nullopt if it is in kVerbs; the caller then reads the rest. Otherwise returns the
  // whole message: a KeepAlive or a BadMessage.
  std::optional<ClientMessage> ReadVerb();
  ClientMessage ReadEvent();
  template <typename Request>
  ClientMessage ReadRequest();
  std::optional<BadMessage> ReadFilters(bool first, std::vector<Filter>* filters);
  std::optional<BadMessage> ReadFilter(std::vector<Filter>* filters);
  template <typename Close>
  ClientMessage ReadClose();
  ClientMessage ReadNegOpen();
  ClientMessage ReadNegMsg();
  std::optional<BadMessage> ReadHexAndEnd(std::string* bytes);
  std::optional<BadMessage> ReadEnd();
  std::optional<BadMessage> ReadSubscription();
  BadMessage Bad(std::string reason) const { return {verb_, subject_, std::move(reason), "invalid"}; }
  std::string Name() const { return std::string(NameOf(verb_)); }

  std::string_view text_;
  const MessageLimits& limits_;
  JsonScanner in_;
  Verb verb_ = Verb::kUnknown;
  std::string subject_;
};

ClientMessage MessageReader::Read() {
  if (std::optional<ClientMessage> other = ReadVerb()) return *std::move(other);
  switch (verb_) {
    case Verb::kEvent:
    case Verb::kAuth:
      return ReadEvent();
    case Verb::kReq:
      return ReadRequest<Req>();
    case Verb::kCount:
      return ReadRequest<CountReq>();
    case Verb::kNegOpen:
      return ReadNegOpen();
    case Verb::kNegMsg:
      return ReadNegMsg();
    case Verb::kNegClose:
      return ReadClose<NegClose>();
    default:
      return ReadClose<CloseReq>();
  }
}

std::optional<ClientMessage> MessageReader::ReadVerb() {
  if (in_.Peek() != '[') return Bad("a message must be a JSON array, not " + in_.Found());
  in_.Take('[');
  JsonString verb;
  if (!in_.ReadString(&verb)) return Bad("the first element of a message " + in_.error());
  const std::string name = Meaning(verb);
  const auto found = std::find(kVerbs.begin(), kVerbs.end(), name);
  if (found == kVerbs.end() && name == "PING") return KeepAlive{};
  if (found == kVerbs.end()) {
    return Bad("unknown message \"" + Shown(name) +
               "\"; known are EVENT, REQ, CLOSE, COUNT, AUTH, NEG-OPEN, NEG-MSG and NEG-CLOSE");
  }
  verb_ = static_cast<Verb>(found - kVerbs.begin());
  return std::nullopt;
}

// Does not check the text between the comma and the last bracket: EventParser refuses all but a single object.
ClientMessage MessageReader::ReadEvent() {
  const auto bad = [this](std::string reason) {
    const char* const object = std::find(in_.at(), text_.data() + text_.size(), '{');
    subject_ = FindId({object, static_cast<size_t>(text_.data() + text_.size() - object)});
    return Bad(std::move(reason));
  };
  if (!in_.Expect(',')) return bad(in_.error());
  if (in_.Peek() != '{') return bad(Name() + " must have an event, a JSON object, not " + in_.Found());
  std::string_view rest(in_.at(), static_cast<size_t>(text_.data() + text_.size() - in_.at()));
  const auto trim = [&rest] { rest = rest.substr(0, rest.find_last_not_of(" \t\r\n") + 1); };
  trim();
  if (!rest.ends_with(']')) return bad("the message must end with ]");
  rest.remove_suffix(1);
  trim();
  if (verb_ == Verb::kAuth) return AuthText{rest};
  return EventText{rest};
}

template <typename Request>
ClientMessage MessageReader::ReadRequest() {
  if (std::optional<BadMessage> bad = ReadSubscription()) return *std::move(bad);
  Request request;
  if (std::optional<BadMessage> bad = ReadFilters(/*first=*/false, &request.filters)) return *std::move(bad);
  if (!in_.AtEnd()) return Bad("nothing may follow the message's array, but there is " + in_.Found());
  request.subscription = std::move(subject_);
  return request;
}

// Reads filters up to the end of an array. `first` is false if the array has an item already.
std::optional<BadMessage> MessageReader::ReadFilters(bool first, std::vector<Filter>* filters) {
  while (true) {
    const JsonScanner::Step step = in_.NextItem(']', &first);
    if (step == JsonScanner::Step::kError) return Bad(in_.error());
    if (step == JsonScanner::Step::kEnd) break;
    if (filters->size() == limits_.max_filters)
      return Bad(Name() + " must have at most " + std::to_string(limits_.max_filters) + " filters, not more");
    if (std::optional<BadMessage> bad = ReadFilter(filters)) return bad;
  }
  if (filters->empty()) return Bad(Name() + " must have a filter");
  return std::nullopt;
}

// Reads a filter behind those that were read before.
std::optional<BadMessage> MessageReader::ReadFilter(std::vector<Filter>* filters) {
  FilterReader reader(&in_, limits_.filter);
  if (reader.Read(&filters->emplace_back())) return std::nullopt;
  BadMessage bad = Bad("filter " + std::to_string(filters->size()) + ": " + reader.error());
  if (reader.unsupported()) bad.prefix = "unsupported";
  return bad;
}

template <typename Close>
ClientMessage MessageReader::ReadClose() {
  if (std::optional<BadMessage> bad = ReadSubscription()) {
    bad->subject.clear();
    return *std::move(bad);
  }
  std::string subscription = std::exchange(subject_, {});
  if (std::optional<BadMessage> bad = ReadEnd()) return *std::move(bad);
  return Close{std::move(subscription)};
}

// NIP-77 has one filter. NDK sends an array of filters, as older versions of the protocol allowed.
ClientMessage MessageReader::ReadNegOpen() {
  if (std::optional<BadMessage> bad = ReadSubscription()) return *std::move(bad);
  NegOpen open;
  if (!in_.Expect(',')) return Bad(in_.error());
  std::optional<BadMessage> wrong =
      in_.Take('[') ? ReadFilters(/*first=*/true, &open.filters) : ReadFilter(&open.filters);
  if (wrong) return *std::move(wrong);
  if (std::optional<BadMessage> bad = ReadHexAndEnd(&open.message)) return *std::move(bad);
  open.subscription = std::move(subject_);
  return open;
}

ClientMessage MessageReader::ReadNegMsg() {
  if (std::optional<BadMessage> bad = ReadSubscription()) return *std::move(bad);
  NegMsg message;
  if (std::optional<BadMessage> bad = ReadHexAndEnd(&message.message)) return *std::move(bad);
  message.subscription = std::move(subject_);
  return message;
}

// Reads the last element, a text of hexadecimal digits.
std::optional<BadMessage> MessageReader::ReadHexAndEnd(std::string* bytes) {
  JsonString hex;
  if (!in_.Expect(',')) return Bad(in_.error());
  if (!in_.ReadString(&hex)) return Bad("the message of negentropy " + in_.error());
  bytes->resize(hex.raw.size() / 2);
  if (!FromHex(hex.raw, reinterpret_cast<uint8_t*>(bytes->data()), bytes->size()))
    return Bad("the message of negentropy must be an even number of hexadecimal digits in lower case");
  return ReadEnd();
}

std::optional<BadMessage> MessageReader::ReadEnd() {
  if (!in_.Expect(']')) return Bad(in_.error());
  if (!in_.AtEnd()) return Bad("nothing may follow the message's array, but there is " + in_.Found());
  return std::nullopt;
}

std::optional<BadMessage> MessageReader::ReadSubscription() {
  JsonString string;
  if (!in_.Expect(',')) return Bad(in_.error());
  if (!in_.ReadString(&string)) return Bad("the subscription's id " + in_.error());
  std::string subscription = Meaning(string);
  const size_t size = subscription.size();
  if (size == 0 || size > limits_.max_subscription_id_bytes) {
    return Bad("the subscription's id must be 1 to " + std::to_string(limits_.max_subscription_id_bytes) +
               " bytes long, not " + std::to_string(size));
  }
  subject_ = std::move(subscription);
  return std::nullopt;
}

}  // namespace

std::string_view NameOf(Verb verb) {
  const auto index = static_cast<size_t>(verb);
  return index < kVerbs.size() ? kVerbs[index] : "unknown";
}

ClientMessage ParseClientMessage(std::string_view text, const MessageLimits& limits) {
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    return BadMessage{.reason = "a message must be valid UTF-8"};
  }
  return MessageReader(text, limits).Read();
}

}  // namespace weir
