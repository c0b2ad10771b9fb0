// Peer: who is at the other end, for the parts of a client: the connection while there is one, who it has proved to be,
// and what is said to it, which is counted here.
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

  // These stay good after the end.
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
  // CLOSED, whose reason begins with one of NIP-01's prefixes.
  void SayClosed(Verb refused, std::string_view subscription, std::string_view reason);
  // For the operator, who would else see clients fail and not why.
  void LogRefusal(Verb refused, std::string_view reason) const;
  // The challenge, if it was not sent before: clients answer every one they get.
  void AskForAuth();
  // Work on the I/O thread that a message has caused.
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
