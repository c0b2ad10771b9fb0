#include "tests/quota_redis/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <utility>

namespace weir {

namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

void AddExtension(X509* certificate, X509* issuer, int extension, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* made = X509V3_EXT_conf_nid(nullptr, &context, extension, value);
  if (made == nullptr) throw std::runtime_error("no certificate");
  X509_add_ext(certificate, made, -1);
  X509_EXTENSION_free(made);
}

// Without an issuer it signs itself, as an authority.
Certificate Make(const char* name, EVP_PKEY* key, X509* issuer, EVP_PKEY* issuer_key, long serial) {
  Certificate made(X509_new(), &X509_free);
  X509* certificate = made.get();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 86'400);
  X509_set_pubkey(certificate, key);
  X509_NAME* subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509_set_issuer_name(certificate, issuer == nullptr ? subject : X509_get_subject_name(issuer));
  if (issuer == nullptr) {
    AddExtension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  } else {
    AddExtension(certificate, issuer, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
  }
  if (X509_sign(certificate, issuer_key, EVP_sha256()) == 0) throw std::runtime_error("no certificate");
  return made;
}

template <typename Write>
void WriteTo(const std::string& path, const Write& write) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) throw std::runtime_error("cannot write " + path);
  write(file);
  std::fclose(file);
}

}  // namespace

void MakeCertificates(const std::string& directory) {
  const Key ca_key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const Key key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const Certificate ca = Make("weir test authority", ca_key.get(), nullptr, ca_key.get(), 1);
  const Certificate server = Make("localhost", key.get(), ca.get(), ca_key.get(), 2);
  WriteTo(directory + "/ca.crt", [&](std::FILE* file) { PEM_write_X509(file, ca.get()); });
  WriteTo(directory + "/server.crt", [&](std::FILE* file) { PEM_write_X509(file, server.get()); });
  WriteTo(directory + "/server.key",
          [&](std::FILE* file) { PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
}

}  // namespace weir
