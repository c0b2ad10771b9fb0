#include "relay/peer.h"

#include <utility>

#include "relay/policy.h"

namespace weir {
namespace {

uint64_t GroupOf(const std::string& address) { return std::hash<std::string>()(address) | 1; }

}  // namespace

Peer::Peer(Connection& connection, RelayMetrics& metrics)
    : connection_(&connection),
      metrics_(metrics),
      party_{.id = connection.id(), .group = GroupOf(connection.address())},
      io_thread_(connection.io_thread()),
      executor_(connection.executor()),
      host_(connection.host()) {}

void Peer::Say(RelayVerb verb, std::string message) {
  if (gone()) return;
  metrics_.CountRelayMessage(verb);
  connection_->Send(std::move(message));
}

void Peer::SayEvent(TextMessage message) {
  if (gone()) return;
  metrics_.CountRelayMessage(RelayVerb::kEvent);
  connection_->Send(std::move(message));
}

void Peer::SayClosed(std::string_view subscription, std::string_view reason) {
  metrics_.CountRefusal(PrefixOf(reason));
  Say(RelayVerb::kClosed, ClosedMessage(subscription, reason));
}

void Peer::AskForAuth() {
  if (!challenge_.empty()) return;
  challenge_ = MakeChallenge();
  Say(RelayVerb::kAuth, AuthMessage(challenge_));
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
