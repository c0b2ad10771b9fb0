#include "relay/nostr/signature.h"

#include <openssl/evp.h>
#include <secp256k1.h>
#include <secp256k1_extrakeys.h>
#include <secp256k1_schnorrsig.h>

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>

#include "config/text/json_scanner.h"
#include "config/text/json_string.h"
#include "relay/nostr/canonical.h"
#include "relay/nostr/messages.h"

namespace weir {
namespace {

void CheckSecp256k1(int ok) {
  if (ok != 1) throw std::runtime_error("libsecp256k1 refused a key of our own");
}

const secp256k1_context* SigningContext() {
  static const secp256k1_context* const context = secp256k1_context_create(SECP256K1_CONTEXT_NONE);
  return context;
}

// Fetches the method only once. Fetching it for each hash, as SHA256() does, adds half of what hashing an event costs
// (README.md).
const EVP_MD* Sha256Method() {
  static const EVP_MD* const method = EVP_MD_fetch(nullptr, "SHA2-256", nullptr);
  return method;
}

void CheckOpenSsl(int ok) {
  if (ok != 1) throw std::runtime_error("OpenSSL cannot compute SHA-256");
}

// Returns the key in the library's form, or null if it is no point of the curve. To find the point costs a tenth of a
// verification, and most events are by authors of other new events; so each thread keeps some keys. Two keys that share
// a place displace each other. The pointer is valid until the next call.
const secp256k1_xonly_pubkey* Parse(const PublicKey& key) {
  struct Parsed {
    PublicKey key{};
    std::optional<secp256k1_xonly_pubkey> point;
  };
  constexpr size_t kKept = 2048;  // some 200 KB
  thread_local const auto kept = std::make_unique<std::array<Parsed, kKept>>();
  Parsed& parsed = (*kept)[(key[30] | size_t{key[31]} << 8) % kKept];
  if (parsed.point && parsed.key == key) return &*parsed.point;
  secp256k1_xonly_pubkey point;
  if (secp256k1_xonly_pubkey_parse(secp256k1_context_static, &point, key.data()) != 1) return nullptr;
  parsed = {.key = key, .point = point};
  return &*parsed.point;
}

}  // namespace

// Verification needs no precomputed tables, so all threads use the library's constant context.
bool VerifySignature(EventView event) {
  const secp256k1_xonly_pubkey* const key = Parse(event.pubkey());
  return key != nullptr && secp256k1_schnorrsig_verify(secp256k1_context_static, event.signature().data(),
                                                       event.id().data(), event.id().size(), key) == 1;
}

struct Signer::Key {
  secp256k1_keypair pair;
  PublicKey pubkey;
};

Signer::Signer(uint64_t seed) : key_(std::make_unique<Key>()) {
  const Bytes32 secret = Sha256("weir test key " + std::to_string(seed));
  secp256k1_xonly_pubkey pubkey;
  CheckSecp256k1(secp256k1_keypair_create(SigningContext(), &key_->pair, secret.data()));
  CheckSecp256k1(secp256k1_keypair_xonly_pub(SigningContext(), &pubkey, nullptr, &key_->pair));
  CheckSecp256k1(secp256k1_xonly_pubkey_serialize(SigningContext(), key_->pubkey.data(), &pubkey));
}
Signer::~Signer() = default;
Signer::Signer(Signer&&) noexcept = default;

const PublicKey& Signer::pubkey() const { return key_->pubkey; }

Signature Signer::Sign(const Bytes32& message) const {
  Signature signature;
  CheckSecp256k1(secp256k1_schnorrsig_sign32(SigningContext(), signature.data(), message.data(), &key_->pair, nullptr));
  return signature;
}

std::string Signer::SignedEvent(uint64_t created_at, uint16_t kind, std::string_view tags_json,
                                std::string_view content) const {
  JsonScanner scanner(tags_json);
  if (!scanner.SkipValue() || !scanner.AtEnd()) throw std::invalid_argument("tags must be JSON: " + scanner.error());
  const std::string pubkey = ToHex(key_->pubkey);
  const std::string time = std::to_string(created_at);
  std::string canonical = "[0,\"" + pubkey + "\"," + time + "," + std::to_string(kind) + ",";
  const size_t head = canonical.size();
  AppendCanonical(tags_json, ControlForm::kEscaped, &canonical);
  const std::string tags = canonical.substr(head);
  std::string quoted;
  AppendJsonString(content, &quoted);
  canonical += "," + quoted + "]";
  const Bytes32 id = Sha256(canonical);
  const Signature signature = Sign(id);
  return "{\"id\":\"" + ToHex(id) + "\",\"pubkey\":\"" + pubkey + "\",\"created_at\":" + time +
         ",\"kind\":" + std::to_string(kind) + ",\"tags\":" + tags + ",\"content\":" + quoted + ",\"sig\":\"" +
         ToHex(signature.data(), signature.size()) + "\"}";
}

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
