#include "relay/nostr/messages.h"

#include "config/text/json_string.h"

namespace weir {
namespace {

// Returns the beginning of most messages, `["LABEL","subscription or id"`.
std::string Begin(std::string_view label, std::string_view subject, size_t reserve = 0) {
  std::string message;
  message.reserve(label.size() + subject.size() + reserve + 8);
  message.append("[\"").append(label).append("\",");
  AppendJsonString(subject, &message);
  return message;
}

std::string WithReason(std::string_view label, std::string_view subject, std::string_view reason) {
  std::string message = Begin(label, subject, reason.size() + 8);
  message.push_back(',');
  AppendJsonString(reason, &message);
  message.push_back(']');
  return message;
}

}  // namespace

std::string OkMessage(const EventId& id, bool accepted, std::string_view text) {
  return OkMessage(ToHex(id), accepted, text);
}

std::string OkMessage(std::string_view id_hex, bool accepted, std::string_view text) {
  std::string message = Begin("OK", id_hex, text.size() + 16);
  message.append(accepted ? ",true," : ",false,");
  AppendJsonString(text, &message);
  message.push_back(']');
  return message;
}

std::string EventMessageHead(std::string_view subscription) { return Begin("EVENT", subscription) + ","; }

std::string EoseMessage(std::string_view subscription, Completeness completeness) {
  std::string message = Begin("EOSE", subscription, 16);
  if (completeness == Completeness::kFinish) message.append(",[\"finish\"]");
  if (completeness == Completeness::kMore) message.append(",[\"more\"]");
  message.push_back(']');
  return message;
}

std::string ClosedMessage(std::string_view subscription, std::string_view reason) {
  return WithReason("CLOSED", subscription, reason);
}

std::string NegMsgMessage(std::string_view subscription, std::string_view message) {
  return Begin("NEG-MSG", subscription, 2 * message.size() + 8) + ",\"" + ToHex(message) + "\"]";
}

std::string NegErrMessage(std::string_view subscription, std::string_view reason, std::optional<uint64_t> most_events) {
  std::string message = WithReason("NEG-ERR", subscription, reason);
  if (most_events) message.insert(message.size() - 1, "," + std::to_string(*most_events));
  return message;
}

std::string NoticeMessage(std::string_view text) { return Begin("NOTICE", text) + "]"; }

std::string CountMessage(std::string_view subscription, uint64_t count, bool approximate, std::string_view sketch_hex) {
  std::string message = Begin("COUNT", subscription, 64 + sketch_hex.size());
  message.append(",{\"count\":").append(std::to_string(count));
  if (approximate) message.append(",\"approximate\":true");
  if (!sketch_hex.empty()) message.append(",\"hll\":\"").append(sketch_hex).append("\"");
  message.append("}]");
  return message;
}

std::string AuthMessage(std::string_view challenge) { return Begin("AUTH", challenge) + "]"; }

}  // namespace weir
