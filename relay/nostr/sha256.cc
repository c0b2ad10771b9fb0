#include "relay/nostr/sha256.h"

#include <openssl/evp.h>

#include <stdexcept>

#include "relay/nostr/signature.h"

namespace weir {
namespace {

// Fetches the method only once. Fetching it for each hash, as SHA256() does, adds half of what hashing an event costs
// (README.md).
const EVP_MD* Sha256Method() {
  static const EVP_MD* const method = EVP_MD_fetch(nullptr, "SHA2-256", nullptr);
  return method;
}

void CheckOpenSsl(int ok) {
  if (ok != 1) throw std::runtime_error("OpenSSL cannot compute SHA-256");
}

}  // namespace

Sha256Hasher::Sha256Hasher() : context_(EVP_MD_CTX_new()) {
  CheckOpenSsl(context_ != nullptr && Sha256Method() != nullptr);
}
Sha256Hasher::~Sha256Hasher() { EVP_MD_CTX_free(context_); }

void Sha256Hasher::Start() { CheckOpenSsl(EVP_DigestInit_ex2(context_, Sha256Method(), nullptr)); }

void Sha256Hasher::Add(std::string_view bytes) { CheckOpenSsl(EVP_DigestUpdate(context_, bytes.data(), bytes.size())); }

Bytes32 Sha256Hasher::Finish() {
  Bytes32 hash;
  CheckOpenSsl(EVP_DigestFinal_ex(context_, hash.data(), nullptr));
  return hash;
}

Bytes32 Sha256(std::string_view bytes) {
  thread_local Sha256Hasher hasher;
  hasher.Start();
  hasher.Add(bytes);
  return hasher.Finish();
}

}  // namespace weir
