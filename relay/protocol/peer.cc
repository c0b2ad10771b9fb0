#include "relay/protocol/peer.h"

#include <spdlog/spdlog.h>

#include <array>
#include <utility>

#include "config/text/readable.h"
#include "relay/net/log_limit.h"
#include "relay/protocol/policy.h"

namespace weir {
namespace {

// Returns the limit of a prefix. Each prefix has a limit of its own for the whole process, so that a flood of one kind
// of refusal does not hide the others.
LogLimit& LimitOf(std::string_view prefix) {
  static constexpr std::array<std::string_view, 10> kPrefixes = {
      "invalid", "unsupported",   "rate-limited", "restricted", "blocked",
      "closed",  "auth-required", "pow",          "replaced",   "error"};
  static std::array<LogLimit, kPrefixes.size() + 1> limits;
  size_t i = 0;
  while (i < kPrefixes.size() && kPrefixes[i] != prefix) ++i;
  return limits[i];
}

}  // namespace

Peer::Peer(Connection& connection, RelayCounters& counters)
    : connection_(&connection),
      counters_(counters),
      party_{.id = connection.id(), .group = connection.group() | 1},
      io_thread_(connection.io_thread()),
      executor_(connection.executor()),
      host_(connection.host()),
      address_(connection.address()),
      address_bytes_(ParseAddressBytes(address_)),
      account_(connection.account()) {}

void Peer::Say(RelayVerb verb, std::string message) {
  if (gone()) return;
  counters_.CountRelayMessage(verb);
  connection_->Send(std::move(message));
}

void Peer::SayEvent(TextMessage message) {
  if (gone()) return;
  counters_.CountRelayMessage(RelayVerb::kEvent);
  connection_->Send(std::move(message));
}

void Peer::SayClosed(Verb refused, std::string_view subscription, std::string_view reason,
                     std::optional<uint64_t> most_events) {
  counters_.CountRefusal(reason);
  LogRefusal(refused, reason);
  if (refused == Verb::kNegOpen || refused == Verb::kNegMsg)
    return Say(RelayVerb::kNegErr, NegErrMessage(subscription, reason, most_events));
  Say(RelayVerb::kClosed, ClosedMessage(subscription, reason));
}

void Peer::LogRefusal(Verb refused, std::string_view reason) const {
  if (gone()) return;
  const auto line = LimitOf(PrefixOf(reason)).Take(std::chrono::steady_clock::now());
  if (line) spdlog::info("refused {} from {}: {}{}", NameOf(refused), address_, AsText(reason), line->Suffix());
}

void Peer::AskForAuth() {
  if (!challenge_.empty()) return;
  challenge_ = MakeChallenge();
  Say(RelayVerb::kAuth, AuthMessage(challenge_));
}

void Peer::Charge(Work work) {
  if (!gone()) connection_->Charge(work);
}

void Peer::PauseReading() {
  if (!gone()) connection_->PauseReading();
}

void Peer::ResumeReading() {
  if (!gone()) connection_->ResumeReading();
}

void Peer::Close(CloseCode code, std::string_view reason) {
  if (!gone()) connection_->Close(code, reason);
}

void Peer::WhenPendingBelow(size_t bytes, std::function<void()> callback) {
  if (!gone()) connection_->WhenPendingBelow(bytes, std::move(callback));
}

}  // namespace weir
