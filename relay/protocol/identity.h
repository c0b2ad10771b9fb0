// Who a connection has proved to be (NIP-42): the keys that signed its challenge. Values are immutable and shared, so
// that workers judge by what was known when a message came.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "relay/nostr/event.h"

namespace weir {

class Identity {
 public:
  // More would only make a relay search longer.
  static constexpr size_t kMostKeys = 64;

  static const std::shared_ptr<const Identity>& Nobody();
  // `identity` with one key more.
  static std::shared_ptr<const Identity> With(const Identity& identity, const PublicKey& key);

  bool empty() const { return keys_.empty(); }
  size_t size() const { return keys_.size(); }
  bool Has(const PublicKey& key) const;
  bool HasHex(std::string_view hex) const;

 private:
  std::vector<PublicKey> keys_;
  std::vector<std::string> hex_;
};

struct AuthExpectation {
  std::string_view challenge;  // empty: none was sent
  std::string_view relay;      // URL or host, of which the host counts; empty: nobody knows
  uint64_t now_seconds = 0;
};

// Why an event is no answer to the challenge, with NIP-01's prefix; empty if it is one. Without the signature.
std::string RefusalOfAuth(EventView event, const AuthExpectation& expected);

// 128 random bits in hexadecimal.
std::string MakeChallenge();

// Whether only somebody near can have meant this relay by it: localhost, or a loopback or private address. Any other
// Host header may be what somebody between client and relay wrote there, to use the client's AUTH for himself.
bool IsNearby(std::string_view host);

// "wss://Relay.Example:443/path" → "relay.example".
std::string HostOf(std::string_view url);

// How a program on this machine reaches what listens on an address: "127.0.0.1:3334", also for all addresses.
std::string HostAndPort(std::string listen, uint16_t port);

}  // namespace weir
