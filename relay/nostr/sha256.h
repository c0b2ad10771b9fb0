// Computes SHA-256 piece by piece, with a context that is reused.
#pragma once

#include <string_view>

#include "relay/nostr/event.h"

struct evp_md_ctx_st;

namespace weir {

class Sha256Hasher {
 public:
  Sha256Hasher();
  ~Sha256Hasher();
  Sha256Hasher(const Sha256Hasher&) = delete;
  Sha256Hasher& operator=(const Sha256Hasher&) = delete;

  void Start();
  void Add(std::string_view bytes);
  Bytes32 Finish();

 private:
  evp_md_ctx_st* context_;
};

}  // namespace weir
