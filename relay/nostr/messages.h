// The messages of NIP-01, 42, 45 and 67, from text and to text; and what is said to those of NIP-77, which nobody here
// understands.
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

// EVENT and AUTH carry an event, left as text: parsing it is for a worker thread. The view is into the message.
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
// ["PING"], by which welshman's clients keep a connection alive: there is nothing to say to it.
struct KeepAlive {};
// NEG-OPEN, NEG-MSG or, where there is nothing to be said to it, NEG-CLOSE.
struct Negentropy {
  std::string subscription;
  bool wants_answer = true;
};

// Why a message cannot be taken, and whom to tell: a REQ or COUNT whose subscription could be read gets CLOSED, an
// EVENT or AUTH whose id could be read gets OK false, the rest a NOTICE.
struct BadMessage {
  Verb verb = Verb::kUnknown;
  std::string subject;                  // subscription, or id in hex; empty: NOTICE
  std::string reason;                   // without prefix
  std::string_view prefix = "invalid";  // NIP-01's
};

using ClientMessage = std::variant<EventText, AuthText, Req, CountReq, CloseReq, KeepAlive, Negentropy, BadMessage>;

// Never throws; nesting, size and numbers of any kind are met with BadMessage.
ClientMessage ParseClientMessage(std::string_view text, const MessageLimits& limits = {});

// What the relay says. Texts are escaped here; `json` must be JSON already.
std::string OkMessage(const EventId& id, bool accepted, std::string_view text);
std::string OkMessage(std::string_view id_hex, bool accepted, std::string_view text);
// `["EVENT","sub",`: the event's JSON and `]` follow.
std::string EventMessageHead(std::string_view subscription);
inline constexpr std::string_view kEventMessageTail = "]";
// NIP-67: whether all that is stored was sent; nothing is said where that is not known.
enum class Completeness : uint8_t { kUnknown, kFinish, kMore };
std::string EoseMessage(std::string_view subscription, Completeness completeness = Completeness::kUnknown);
std::string ClosedMessage(std::string_view subscription, std::string_view reason);
std::string NoticeMessage(std::string_view text);
std::string CountMessage(std::string_view subscription, uint64_t count, bool approximate = false);
std::string NegErrMessage(std::string_view subscription, std::string_view reason);
std::string AuthMessage(std::string_view challenge);

}  // namespace weir
