// ServedCertificate: the certificate that connections get, read again when its files are renewed. If the new files are
// no pair, the old certificate stays.
//
// Threads: all functions may be called from any; the files are read on a thread of its own.
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
  static constexpr std::chrono::milliseconds kLook{5000};

  static Result<std::unique_ptr<ServedCertificate>> Open(TlsFiles files, std::chrono::milliseconds look = kLook);

  std::shared_ptr<const TlsCertificate> Now() const;
  void ReloadSoon() { watch_->ReadSoon(); }
  // Adds the figures of the reloads and of the certificate.
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
  std::unique_ptr<ConfigWatch> watch_;  // ends first
};

}  // namespace weir
