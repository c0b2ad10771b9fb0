// Peer: the client at the other end of a connection, for Client, EventWindow, Requests and Request. These objects share
// one Peer for each connection and send their messages through it; Peer counts the messages. A Peer may outlive the
// connection; sending then does nothing. It also has the keys that the client has proved (identity.h).
//
// Threads: the functions run on the connection's I/O thread, except party, io_thread, executor, host, address and
// account, which may be called from any thread.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "relay/net/connection.h"
#include "relay/nostr/messages.h"
#include "relay/observe/relay/relay_counters.h"
#include "relay/protocol/identity.h"
#include "relay/rules/address_set.h"
#include "throttle/admission.h"

namespace weir {

class Peer {
 public:
  // Uses `connection` until End. `counters` must outlive the peer.
  Peer(Connection& connection, RelayCounters& counters);

  // The six functions below may be called from any thread, also after the connection's end. party() identifies the
  // client for the gates and queues (throttle/admission.h); its group stands for the client's address and is never 0.
  Party party() const { return party_; }
  size_t io_thread() const { return io_thread_; }
  const boost::asio::any_io_executor& executor() const { return executor_; }
  const std::string& host() const { return host_; }
  // Returns the client's address for the rules; nullopt if the connection has none.
  const std::optional<AddressBytes>& address_bytes() const { return address_bytes_; }
  const std::string& address() const { return address_; }
  const std::shared_ptr<Account>& account() const { return account_; }

  // Returns true once the connection has ended.
  bool gone() const { return connection_ == nullptr; }
  // Called when the connection has ended. From then on Peer does not use the connection.
  void End() { connection_ = nullptr; }

  // Once the connection has ended, the functions from here to pending_bytes send and log nothing, and call no callback.
  void Say(RelayVerb verb, std::string message);
  void SayEvent(TextMessage message);
  // Sends CLOSED, or NEG-ERR if `refused` is a message of NIP-77. Logs the refusal and counts it; counts it even if the
  // connection has ended. `reason` begins with one of NIP-01's prefixes. `most_events` is for NegErrMessage.
  void SayClosed(Verb refused, std::string_view subscription, std::string_view reason,
                 std::optional<uint64_t> most_events = std::nullopt);
  // Logs a refusal, so that the operator sees why clients fail. In the whole process, at most ten refusals a second
  // with the same prefix are logged (relay/net/log_limit.h).
  void LogRefusal(Verb refused, std::string_view reason) const;
  // Makes a challenge and sends it. Does nothing if it was called before, because clients answer every challenge.
  void AskForAuth();
  // The next six functions call the functions with the same names of Connection (relay/net/connection.h).
  void Charge(Work work);
  void PauseReading();
  void ResumeReading();
  void Close(CloseCode code, std::string_view reason);
  void WhenPendingBelow(size_t bytes, std::function<void()> callback);
  size_t pending_bytes() const { return gone() ? 0 : connection_->pending_bytes(); }

  // Returns the keys that the client has proved so far.
  const std::shared_ptr<const Identity>& identity() const { return identity_; }
  // Adds a key that the client has proved.
  void Know(const PublicKey& key) { identity_ = Identity::With(*identity_, key); }
  // Returns the challenge; empty if none was sent yet.
  const std::string& challenge() const { return challenge_; }

 private:
  Connection* connection_;
  RelayCounters& counters_;
  const Party party_;
  const size_t io_thread_;
  const boost::asio::any_io_executor executor_;
  const std::string host_;
  const std::string address_;
  const std::optional<AddressBytes> address_bytes_;
  const std::shared_ptr<Account> account_;
  std::shared_ptr<const Identity> identity_ = Identity::Nobody();
  std::string challenge_;
};

}  // namespace weir
