// Reads the messages of clients and writes the messages of the relay (NIP-01, 42, 45, 67 and 77).
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

// The kind of a client's message, which its first element states. kUnknown: another element, or one that could not be
// read.
enum class Verb : uint8_t { kEvent, kReq, kClose, kCount, kAuth, kNegOpen, kNegMsg, kNegClose, kUnknown };
// Returns the first element of such a message, such as "EVENT"; "unknown" for kUnknown.
std::string_view NameOf(Verb verb);

struct MessageLimits {
  size_t max_subscription_id_bytes = 64;  // counted without escapes
  size_t max_filters = 200;
  FilterLimits filter;
};

// EVENT and AUTH messages. Their event is still JSON text, which a worker thread parses later. `json` points into the
// message.
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
// ["PING"], which needs no answer. Clients that use the library welshman send it to keep a connection alive.
struct KeepAlive {};
// The messages of NIP-77. `message` is negentropy's message (relay/negentropy), no longer in hexadecimal.
struct NegOpen {
  std::string subscription;
  std::vector<Filter> filters;  // at least one
  std::string message;
};
struct NegMsg {
  std::string subscription;
  std::string message;
};
struct NegClose {
  std::string subscription;
};

// A message that must be refused. The caller answers a REQ or COUNT with CLOSED and a NEG-OPEN or NEG-MSG with NEG-ERR
// if its subscription could be read, an EVENT or AUTH with OK false if its id could be read, and every other message
// with a NOTICE.
struct BadMessage {
  Verb verb = Verb::kUnknown;
  std::string subject;                  // the subscription or the event's id in hex; empty if it could not be read
  std::string reason;                   // the text that follows the prefix
  std::string_view prefix = "invalid";  // NIP-01's prefix: "invalid", or "unsupported" for a filter's unknown field
};

using ClientMessage =
    std::variant<EventText, AuthText, Req, CountReq, CloseReq, NegOpen, NegMsg, NegClose, KeepAlive, BadMessage>;

// Returns the message that `text` holds, or a BadMessage if the text is not valid or exceeds a limit. Does not throw,
// whatever the text is. Does not check the event in an EVENT or AUTH. The text must outlive a returned EventText or
// AuthText.
ClientMessage ParseClientMessage(std::string_view text, const MessageLimits& limits = {});

// The functions below return messages of the relay as JSON text. Their arguments must be UTF-8; the functions escape
// them.
std::string OkMessage(const EventId& id, bool accepted, std::string_view text);
std::string OkMessage(std::string_view id_hex, bool accepted, std::string_view text);
// Returns the beginning of an EVENT message, `["EVENT","sub",`. The caller adds the event's JSON and kEventMessageTail.
std::string EventMessageHead(std::string_view subscription);
inline constexpr std::string_view kEventMessageTail = "]";
// The element of an EOSE message that says whether all matching stored events were sent (NIP-67). kFinish: all were
// sent. kMore: some were not sent. kUnknown: the message has no such element.
enum class Completeness : uint8_t { kUnknown, kFinish, kMore };
std::string EoseMessage(std::string_view subscription, Completeness completeness = Completeness::kUnknown);
std::string ClosedMessage(std::string_view subscription, std::string_view reason);
std::string NoticeMessage(std::string_view text);
// If `approximate` is true, the message says that the count is an estimate. `sketch_hex` is AuthorSketch::ToHex; empty:
// the message has no sketch.
std::string CountMessage(std::string_view subscription, uint64_t count, bool approximate = false,
                         std::string_view sketch_hex = {});
// `message` is not in hexadecimal yet.
std::string NegMsgMessage(std::string_view subscription, std::string_view message);
// If `most_events` is given, the message says that the relay compares no larger sets.
std::string NegErrMessage(std::string_view subscription, std::string_view reason,
                          std::optional<uint64_t> most_events = std::nullopt);
std::string AuthMessage(std::string_view challenge);

}  // namespace weir
