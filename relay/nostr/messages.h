// Reads and writes the messages of NIP-01, 42, 45 and 67. It also recognizes those of NIP-77, which this relay refuses.
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

enum class Verb : uint8_t { kEvent, kReq, kClose, kCount, kAuth, kUnknown };
std::string_view NameOf(Verb verb);

struct MessageLimits {
  size_t max_subscription_id_bytes = 64;
  size_t max_filters = 200;
  FilterLimits filter;
};

// EVENT and AUTH carry an event as text: a worker thread parses it. The view is into the message.
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
// ["PING"]: welshman's clients send it to keep a connection alive. It needs no answer.
struct KeepAlive {};
// NEG-OPEN or NEG-MSG; also NEG-CLOSE, which needs no answer.
struct Negentropy {
  std::string subscription;
  bool wants_answer = true;
};

// Why a message is refused, and how to answer: CLOSED for a REQ or COUNT whose subscription could be read, OK false for
// an EVENT or AUTH whose id could be read, else a NOTICE.
struct BadMessage {
  Verb verb = Verb::kUnknown;
  std::string subject;                  // subscription, or id in hex; empty: answer with NOTICE
  std::string reason;                   // without the prefix
  std::string_view prefix = "invalid";  // NIP-01's prefix
};

using ClientMessage = std::variant<EventText, AuthText, Req, CountReq, CloseReq, KeepAlive, Negentropy, BadMessage>;

// Never throws, whatever the text is: a message that cannot be read, or is beyond a limit, gives a BadMessage.
ClientMessage ParseClientMessage(std::string_view text, const MessageLimits& limits = {});

// Messages of the relay. These functions escape texts; `json` must be JSON already.
std::string OkMessage(const EventId& id, bool accepted, std::string_view text);
std::string OkMessage(std::string_view id_hex, bool accepted, std::string_view text);
// Returns `["EVENT","sub",`. The event's JSON and `]` follow.
std::string EventMessageHead(std::string_view subscription);
inline constexpr std::string_view kEventMessageTail = "]";
// NIP-67: whether all stored events were sent. kUnknown: the EOSE does not say.
enum class Completeness : uint8_t { kUnknown, kFinish, kMore };
std::string EoseMessage(std::string_view subscription, Completeness completeness = Completeness::kUnknown);
std::string ClosedMessage(std::string_view subscription, std::string_view reason);
std::string NoticeMessage(std::string_view text);
std::string CountMessage(std::string_view subscription, uint64_t count, bool approximate = false);
std::string NegErrMessage(std::string_view subscription, std::string_view reason);
std::string AuthMessage(std::string_view challenge);

}  // namespace weir
