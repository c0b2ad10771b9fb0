// Reads the messages of clients and writes those of the relay (NIP-01, 42, 45 and 67). The reader also recognizes the
// messages of NIP-77, which this relay refuses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "relay/nostr/event.h"
#include "relay/nostr/filter.h"

namespace weir {

// The first element of a client's message. kUnknown: any other word, or none that could be read.
enum class Verb : uint8_t { kEvent, kReq, kClose, kCount, kAuth, kUnknown };
// Returns the word of the message, such as "EVENT"; "unknown" for kUnknown.
std::string_view NameOf(Verb verb);

struct MessageLimits {
  size_t max_subscription_id_bytes = 64;  // without escapes
  size_t max_filters = 200;
  FilterLimits filter;
};

// EVENT and AUTH messages, whose event is still text: a worker thread parses it later. `json` points into the message.
struct EventText {
  std::string_view json;
};
struct AuthText {
  std::string_view json;
};
struct Req {
  std::string subscription;
  std::vector<Filter> filters;
};
struct CountReq {
  std::string subscription;
  std::vector<Filter> filters;
};
struct CloseReq {
  std::string subscription;
};
// ["PING"], which needs no answer. Clients built on the library welshman send it to keep a connection alive.
struct KeepAlive {};
// A message of NIP-77: NEG-CLOSE, which needs no answer, or any other NEG- message.
struct Negentropy {
  std::string subscription;
  bool wants_answer = true;
};

// A message that must be refused. The caller answers CLOSED for a REQ or COUNT whose subscription could be read, OK
// false for an EVENT or AUTH whose id could be read, and a NOTICE for every other message.
struct BadMessage {
  Verb verb = Verb::kUnknown;
  std::string subject;                  // the subscription, or the event's id in hex; empty: answer with a NOTICE
  std::string reason;                   // without the prefix
  std::string_view prefix = "invalid";  // NIP-01's prefix: "invalid", or "unsupported" for a filter's unknown field
};

using ClientMessage = std::variant<EventText, AuthText, Req, CountReq, CloseReq, KeepAlive, Negentropy, BadMessage>;

// Returns the message that `text` holds. Returns a BadMessage if the text cannot be read or exceeds a limit. Does not
// throw, whatever the text is. In an EVENT or AUTH, only what is around the event is checked. The text must outlive an
// EventText or AuthText.
ClientMessage ParseClientMessage(std::string_view text, const MessageLimits& limits = {});

// The functions below return messages of the relay as JSON text. They escape their arguments, which must be UTF-8.
std::string OkMessage(const EventId& id, bool accepted, std::string_view text);
std::string OkMessage(std::string_view id_hex, bool accepted, std::string_view text);
// Returns the beginning of an EVENT message, `["EVENT","sub",`. The caller sends the event's JSON and kEventMessageTail
// behind it.
std::string EventMessageHead(std::string_view subscription);
inline constexpr std::string_view kEventMessageTail = "]";
// Says in an EOSE message whether all stored events were sent (NIP-67). kFinish: all that match were sent. kMore: more
// of them match. kUnknown: the message has no such element.
enum class Completeness : uint8_t { kUnknown, kFinish, kMore };
std::string EoseMessage(std::string_view subscription, Completeness completeness = Completeness::kUnknown);
std::string ClosedMessage(std::string_view subscription, std::string_view reason);
std::string NoticeMessage(std::string_view text);
// If `approximate` is true, the message says that the count is an estimate.
std::string CountMessage(std::string_view subscription, uint64_t count, bool approximate = false);
std::string NegErrMessage(std::string_view subscription, std::string_view reason);
std::string AuthMessage(std::string_view challenge);

}  // namespace weir
