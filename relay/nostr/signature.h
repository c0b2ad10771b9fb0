// Verifies and makes Schnorr signatures over secp256k1 (BIP-340), and computes SHA-256. Verifying the signature is the
// largest cost of accepting an event.
#pragma once

#include "relay/nostr/event.h"

struct evp_md_ctx_st;

namespace weir {

// Returns true if the event's author has signed the event's id with the event's signature. Does not check that the id
// is the hash of the event (EventParser does). Thread-safe; takes 39 µs.
bool VerifySignature(EventView event);

// Signer: makes signed events for tests, load generators and clients. Do not use it for keys that matter: it computes
// the key from a small seed, and signs without fresh randomness. Many threads may use a signer at once.
class Signer {
 public:
  // Makes the key pair for `seed`, which may be any number. The same seed always gives the same key.
  explicit Signer(uint64_t seed);
  ~Signer();
  Signer(Signer&&) noexcept;

  const PublicKey& pubkey() const;
  Signature Sign(const Bytes32& message) const;
  // Returns the JSON of an event, with its id and signature and with the fields in the order of NIP-01. `tags_json`
  // must be a JSON array of arrays of strings. SignedEvent throws std::invalid_argument if it is not JSON.
  std::string SignedEvent(uint64_t created_at, uint16_t kind, std::string_view tags_json,
                          std::string_view content) const;

 private:
  struct Key;
  std::unique_ptr<Key> key_;
};

// Returns the SHA-256 of `bytes`. Thread-safe.
Bytes32 Sha256(std::string_view bytes);

// Computes the SHA-256 of texts that come in pieces. Uses one OpenSSL context for all its hashes, which is faster than
// a new context for each.
//
// For each hash, call Start, then Add for each piece, then Finish. Only one thread at a time may use a hasher. The
// constructor and the three functions throw std::runtime_error if OpenSSL fails.
class Sha256Hasher {
 public:
  Sha256Hasher();
  ~Sha256Hasher();
  Sha256Hasher(const Sha256Hasher&) = delete;
  Sha256Hasher& operator=(const Sha256Hasher&) = delete;

  // Begins a hash, and drops an unfinished one.
  void Start();
  void Add(std::string_view bytes);
  // Returns the hash of all bytes that were added since Start.
  Bytes32 Finish();

 private:
  evp_md_ctx_st* context_;
};

}  // namespace weir
