// TlsCertificate: a certificate chain and its key, ready for TLS handshakes. It never changes, so all connections can
// share it.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/status.h"
#include "relay/account/work.h"

struct ssl_ctx_st;

namespace weir {

// The names of two files in PEM form.
struct TlsFiles {
  std::string certificate;  // the certificate, followed by the intermediate certificates
  std::string key;          // the certificate's key, without a password

  // Returns true if no file is set; the port then does not speak TLS.
  bool empty() const { return certificate.empty() && key.empty(); }
};

struct TlsStats {
  uint64_t handshakes = 0;
  uint64_t handshake_failures = 0;
  uint64_t reloads = 0;                // the number of times that renewed files came into use
  uint64_t reload_failures = 0;        // the number of times that renewed files were not valid
  int64_t certificate_expires_at = 0;  // seconds since 1970
};

class TlsCertificate {
 public:
  // Reads the two files. If a file is wrong or not set, returns an error that says which file and why.
  static Result<std::shared_ptr<const TlsCertificate>> Load(const TlsFiles& files);
  ~TlsCertificate();
  TlsCertificate(const TlsCertificate&) = delete;
  TlsCertificate& operator=(const TlsCertificate&) = delete;

  ssl_ctx_st* context() const { return context_; }    // OpenSSL's context for new connections
  int64_t expires_at() const { return expires_at_; }  // notAfter, in seconds since 1970
  // Returns the work of a full handshake. A handshake that resumes an earlier session is charged half of that.
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
