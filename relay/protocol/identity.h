// Identity: the keys that a connection has proved by signing its challenge (NIP-42). Values are immutable and shared,
// so workers judge a message by the keys that were known when it came.
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
  // More keys would only make each search longer.
  static constexpr size_t kMostKeys = 64;

  static const std::shared_ptr<const Identity>& Nobody();
  // Returns `identity` with one key more.
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
  std::string_view relay;      // URL or host; only the host counts; empty: not known
  uint64_t now_seconds = 0;
};

// Returns why an event is no answer to the challenge, with NIP-01's prefix; empty if it is one. Ignores the signature.
std::string RefusalOfAuth(EventView event, const AuthExpectation& expected);

// Returns 128 random bits in hexadecimal.
std::string MakeChallenge();

// Returns true if only a client nearby can have meant this relay by `host`: localhost, or a loopback or private
// address. Any other Host header may come from a machine between client and relay that wants to use the client's AUTH
// itself.
bool IsNearby(std::string_view host);

// Returns the host of a URL: "wss://Relay.Example:443/path" → "relay.example".
std::string HostOf(std::string_view url);

// Returns the address by which a program on this machine reaches a listener: "127.0.0.1:3334", also if it listens on
// all addresses.
std::string HostAndPort(std::string listen, uint16_t port);

}  // namespace weir
