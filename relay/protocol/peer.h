// Peer: the other end of a connection, for the parts of a client: the connection while there is one, the keys that it
// has proved, and the messages to it, which are counted here.
//
// Used on the connection's I/O thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "relay/metrics/relay_counters.h"
#include "relay/nostr/messages.h"
#include "relay/protocol/identity.h"
#include "relay/server/connection.h"
#include "throttle/admission.h"

namespace weir {

class Peer {
 public:
  Peer(Connection& connection, RelayCounters& counters);

  // These stay valid after the end.
  Party party() const { return party_; }
  size_t io_thread() const { return io_thread_; }
  const boost::asio::any_io_executor& executor() const { return executor_; }
  const std::string& host() const { return host_; }
  const std::shared_ptr<Account>& account() const { return account_; }

  bool gone() const { return connection_ == nullptr; }
  void End() { connection_ = nullptr; }

  // All of these do nothing once the connection is gone.
  void Say(RelayVerb verb, std::string message);
  void SayEvent(TextMessage message);
  // Sends CLOSED. `reason` begins with one of NIP-01's prefixes.
  void SayClosed(Verb refused, std::string_view subscription, std::string_view reason);
  // Logs a refusal for the operator, who would otherwise see clients fail without a reason.
  void LogRefusal(Verb refused, std::string_view reason) const;
  // Sends the challenge unless it was sent before: clients answer every one that they get.
  void AskForAuth();
  // Charges work that a message has caused on the I/O thread.
  void Charge(Work work);
  void PauseReading();
  void ResumeReading();
  void Close(CloseCode code, std::string_view reason);
  void WhenPendingBelow(size_t bytes, std::function<void()> callback);
  size_t pending_bytes() const { return gone() ? 0 : connection_->pending_bytes(); }

  const std::shared_ptr<const Identity>& identity() const { return identity_; }
  void Know(const PublicKey& key) { identity_ = Identity::With(*identity_, key); }
  const std::string& challenge() const { return challenge_; }

 private:
  Connection* connection_;
  RelayCounters& counters_;
  const Party party_;
  const size_t io_thread_;
  const boost::asio::any_io_executor executor_;
  const std::string host_;
  const std::string address_;
  const std::shared_ptr<Account> account_;
  std::shared_ptr<const Identity> identity_ = Identity::Nobody();
  std::string challenge_;
};

}  // namespace weir
