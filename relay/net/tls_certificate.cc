#include "relay/net/tls_certificate.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <stdexcept>

#include "relay/net/tls_stream.h"

namespace weir {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
using PrivateKey = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;

// The work of a handshake with a P-256 key, and the additional work with RSA 2048. Measured with OpenSSL 3.0 on a
// machine with other work: a handshake and one request cost the server 1.0 ms of CPU with a P-256 key and 1.3 ms with
// RSA 2048. An RSA signature takes eight times as long for twice the bits.
constexpr Work kHandshakeWork = 1'000'000;
constexpr Work kRsa2048Work = 300'000;

Work HandshakeWork(const EVP_PKEY* key) {
  if (EVP_PKEY_base_id(key) != EVP_PKEY_RSA) return kHandshakeWork;
  const Work bits = static_cast<Work>(EVP_PKEY_bits(key));
  return kHandshakeWork + kRsa2048Work * bits / 2048 * bits / 2048 * bits / 2048;
}

std::string Reason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "unreadable" : reason;
}

Status Wrong(const char* setting, const std::string& file, const std::string& what) {
  return Status::Error(std::string("WEIR_") + setting + "=" + file + ": " + what);
}

Result<File> OpenFile(const char* setting, const std::string& path) {
  File file(std::fopen(path.c_str(), "re"), &std::fclose);
  if (file == nullptr) return Wrong(setting, path, std::string("cannot be read: ") + std::strerror(errno));
  return file;
}

}  // namespace

Result<std::shared_ptr<const TlsCertificate>> TlsCertificate::Load(const TlsFiles& files) {
  if (files.certificate.empty() || files.key.empty()) {
    return Status::Error(files.certificate.empty()
                             ? "WEIR_TLS_KEY is set without WEIR_TLS_CERT; a port speaks TLS with both"
                             : "WEIR_TLS_CERT is set without WEIR_TLS_KEY; a port speaks TLS with both");
  }
  ERR_clear_error();
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) throw std::runtime_error("TLS: " + Reason());
  std::shared_ptr<TlsCertificate> certificate(new TlsCertificate(context));
  if (Status status = certificate->ReadCertificate(files.certificate); !status.ok()) return status;
  if (Status status = certificate->ReadKey(files); !status.ok()) return status;
  TlsStream::SetUp(context);
  return std::shared_ptr<const TlsCertificate>(std::move(certificate));
}

TlsCertificate::~TlsCertificate() { SSL_CTX_free(context_); }

Status TlsCertificate::ReadCertificate(const std::string& path) {
  if (const auto file = OpenFile("TLS_CERT", path); !file.ok()) return file.status();
  if (SSL_CTX_use_certificate_chain_file(context_, path.c_str()) != 1)
    return Wrong("TLS_CERT", path, "no good certificate in PEM form (" + Reason() + ")");
  std::tm not_after{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(context_)), &not_after) != 1)
    return Wrong("TLS_CERT", path, "a certificate without an end");
  expires_at_ = timegm(&not_after);
  return Status();
}

Status TlsCertificate::ReadKey(const TlsFiles& files) {
  const auto file = OpenFile("TLS_KEY", files.key);
  if (!file.ok()) return file.status();
  // Gives no password, because the program cannot ask a person for one.
  const auto no_password = [](char*, int, int, void*) { return 0; };
  const PrivateKey key(PEM_read_PrivateKey(file.value().get(), nullptr, no_password, nullptr), &EVP_PKEY_free);
  if (key == nullptr)
    return Wrong("TLS_KEY", files.key, "no key in PEM form, or one with a password (" + Reason() + ")");
  if (SSL_CTX_use_PrivateKey(context_, key.get()) != 1 || SSL_CTX_check_private_key(context_) != 1)
    return Wrong("TLS_KEY", files.key, "not the key of the certificate in " + files.certificate);
  handshake_work_ = HandshakeWork(key.get());
  return Status();
}

}  // namespace weir
