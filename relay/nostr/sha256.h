// Sha256Hasher: computes the SHA-256 of texts that come in pieces. Uses one OpenSSL context for all its hashes, which
// is faster than a new context for each. For a text in one piece, Sha256 (signature.h) is simpler.
#pragma once

#include <string_view>

#include "relay/nostr/event.h"

struct evp_md_ctx_st;

namespace weir {

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
