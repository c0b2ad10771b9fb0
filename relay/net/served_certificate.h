// ServedCertificate: holds the TLS certificate for new connections, and reads it again when its files are renewed. If
// the new files are not a valid certificate with its key, this is logged and the old certificate stays in use.
//
// Threads: all functions may be called from any thread. A separate thread reads the files.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "config/mutex.h"
#include "config/status.h"
#include "relay/net/tls_certificate.h"
#include "relay/process/config_watch.h"

namespace weir {

class ServedCertificate {
 public:
  static constexpr std::chrono::milliseconds kLook{5000};  // the interval at which the thread checks for new files

  // Reads the files. If they are not a valid certificate with its key, returns an error that says what is wrong.
  static Result<std::unique_ptr<ServedCertificate>> Open(TlsFiles files, std::chrono::milliseconds look = kLook);

  // Returns the certificate for the next connection; never null.
  std::shared_ptr<const TlsCertificate> Now() const;
  // Makes the thread read the files again at once, whether they have changed or not. Returns before the thread has done
  // so.
  void ReloadSoon() { watch_->ReadSoon(); }
  // Adds the numbers of good and failed reloads to `stats`, and sets the certificate's expiry date in it.
  void AddTo(TlsStats& stats) const;

 private:
  ServedCertificate(TlsFiles files, std::shared_ptr<const TlsCertificate> first);
  std::function<void()> ReadAgain();
  void Serve(std::shared_ptr<const TlsCertificate> certificate);

  const TlsFiles files_;
  mutable Mutex mutex_;
  std::shared_ptr<const TlsCertificate> certificate_ WEIR_GUARDED_BY(mutex_);
  std::atomic<uint64_t> reloads_{0};
  std::atomic<uint64_t> reload_failures_{0};
  std::unique_ptr<ConfigWatch> watch_;  // the last member, so that its thread ends first
};

}  // namespace weir
