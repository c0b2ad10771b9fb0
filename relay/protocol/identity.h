// Identity: the public keys that a client has proved to own, on one connection, by signing the relay's challenge
// (NIP-42). This header also has the checks of the event that the client signs for this (AUTH).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "relay/nostr/event.h"

namespace weir {

// An immutable set of keys, which threads may share. When the client proves another key, the connection gets a new set
// (With). So a worker that still has the old set judges an event by the keys that were proved before the event came.
class Identity {
 public:
  // A connection may prove at most this many keys, because Has compares a key with all of them. The caller of With must
  // check this limit.
  static constexpr size_t kMostKeys = 64;

  // Returns the identity without keys.
  static const std::shared_ptr<const Identity>& Nobody();
  // Returns a copy of `identity` that also has `key`.
  static std::shared_ptr<const Identity> With(const Identity& identity, const PublicKey& key);

  bool empty() const { return keys_.empty(); }
  const std::vector<PublicKey>& keys() const { return keys_; }
  size_t size() const { return keys_.size(); }
  bool Has(const PublicKey& key) const;
  // Does the same as Has, for a key in lower-case hexadecimal.
  bool HasHex(std::string_view hex) const;
  const std::vector<std::string>& hex() const { return hex_; }  // the keys in lower-case hexadecimal

 private:
  std::vector<PublicKey> keys_;
  std::vector<std::string> hex_;
};

// The values that an AUTH event must have.
struct AuthExpectation {
  std::string_view challenge;  // if empty, the relay has sent no challenge, and every AUTH is refused
  std::string_view relay;      // the relay's URL or host, of which only the host counts; if empty, AUTH is refused
  uint64_t now_seconds = 0;    // seconds since 1970
};

// Returns the reason why `event` is not a valid answer to the challenge, with NIP-01's prefix; empty if it is valid.
// The event's created_at may differ from now by up to 10 minutes. Does not check the signature.
std::string RefusalOfAuth(EventView event, const AuthExpectation& expected);

// Returns a new challenge: 128 random bits in hexadecimal.
std::string MakeChallenge();

}  // namespace weir
