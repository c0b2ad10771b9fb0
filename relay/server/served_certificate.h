// ServedCertificate holds the TLS certificate that new connections get, and reads it again when its files are renewed.
// If the new files are no good pair of a certificate and its key, that is logged and the old certificate stays.
//
// Threads: all functions may be called from any thread. A thread of its own reads the files.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "config/status.h"
#include "relay/process/config_watch.h"
#include "relay/server/tls_certificate.h"

namespace weir {

class ServedCertificate {
 public:
  static constexpr std::chrono::milliseconds kLook{5000};  // how often the thread looks whether the files have changed

  // Reads the files. Returns an error that says what is wrong if they are no good pair.
  static Result<std::unique_ptr<ServedCertificate>> Open(TlsFiles files, std::chrono::milliseconds look = kLook);

  // Returns the certificate for the next connection; never null.
  std::shared_ptr<const TlsCertificate> Now() const;
  // Has the files read again at once, changed or not. Returns without waiting for that.
  void ReloadSoon() { watch_->ReadSoon(); }
  // Adds the numbers of reloads to those in `stats`, and sets when the certificate expires.
  void AddTo(TlsStats& stats) const;

 private:
  ServedCertificate(TlsFiles files, std::shared_ptr<const TlsCertificate> first);
  std::function<void()> ReadAgain();
  void Serve(std::shared_ptr<const TlsCertificate> certificate);

  const TlsFiles files_;
  mutable std::mutex mutex_;
  std::shared_ptr<const TlsCertificate> certificate_;  // protected by mutex_
  std::atomic<uint64_t> reloads_{0};
  std::atomic<uint64_t> reload_failures_{0};
  std::unique_ptr<ConfigWatch> watch_;  // the last member, so that its thread ends first
};

}  // namespace weir
