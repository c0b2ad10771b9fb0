// Schnorr signatures over secp256k1 (BIP-340): the largest single cost of accepting an event.
#pragma once

#include "relay/nostr/event.h"

namespace weir {

// Returns true if the event's author signed its id. Thread-safe; takes 44 µs.
bool VerifySignature(EventView event);

// Makes signed events for tests, load generators and clients. Do not use it for keys that matter: it draws no fresh
// randomness.
class Signer {
 public:
  // Any seed will do for a test; the same seed gives the same key.
  explicit Signer(uint64_t seed);
  ~Signer();
  Signer(Signer&&) noexcept;

  const PublicKey& pubkey() const;
  Signature Sign(const Bytes32& message) const;
  // Returns the JSON of a whole event with its id and signature, in NIP-01's usual order. `tags_json` is an array of
  // arrays.
  std::string SignedEvent(uint64_t created_at, uint16_t kind, std::string_view tags_json,
                          std::string_view content) const;

 private:
  struct Key;
  std::unique_ptr<Key> key_;
};

Bytes32 Sha256(std::string_view bytes);

}  // namespace weir
