// TlsCertificate: a certificate chain and its key, ready for handshakes. It never changes; connections that use it hold
// it.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/status.h"
#include "relay/account/work.h"

struct ssl_ctx_st;

namespace weir {

// PEM files: the certificate, followed by those between it and its authority; and its key, without a password.
struct TlsFiles {
  std::string certificate;
  std::string key;

  bool empty() const { return certificate.empty() && key.empty(); }
};

struct TlsStats {
  uint64_t handshakes = 0;
  uint64_t handshake_failures = 0;
  uint64_t reloads = 0;
  uint64_t reload_failures = 0;
  int64_t certificate_expires_at = 0;  // seconds since 1970
};

class TlsCertificate {
 public:
  // The error says which of the two files is wrong, and why.
  static Result<std::shared_ptr<const TlsCertificate>> Load(const TlsFiles& files);
  ~TlsCertificate();
  TlsCertificate(const TlsCertificate&) = delete;
  TlsCertificate& operator=(const TlsCertificate&) = delete;

  ssl_ctx_st* context() const { return context_; }
  int64_t expires_at() const { return expires_at_; }  // notAfter, in seconds since 1970
  // The cost of a whole handshake; one that resumes an earlier session costs a fraction of it.
  Work handshake_work() const { return handshake_work_; }

 private:
  explicit TlsCertificate(ssl_ctx_st* context) : context_(context) {}
  Status ReadCertificate(const std::string& file);
  Status ReadKey(const TlsFiles& files);

  ssl_ctx_st* const context_;
  int64_t expires_at_ = 0;
  Work handshake_work_ = 0;
};

}  // namespace weir
