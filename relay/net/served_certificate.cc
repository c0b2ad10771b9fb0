#include "relay/net/served_certificate.h"

#include <fmt/chrono.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <ctime>
#include <string>
#include <utility>

namespace weir {
namespace {

void WarnOfReaders(const std::string& key_file) {
  struct stat status {};
  if (stat(key_file.c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0)
    spdlog::warn("WEIR_TLS_KEY={}: every user of this machine may read it; chmod o-r it", key_file);
}

void Log(const TlsFiles& files, int64_t expires_at) {
  const std::time_t end = expires_at;
  if (end <= std::time(nullptr)) {
    spdlog::warn("the certificate in {} has expired on {:%Y-%m-%d %H:%M:%S} UTC; clients will refuse it",
                 files.certificate, fmt::gmtime(end));
  } else {
    spdlog::info("the certificate in {} is in service; it expires on {:%Y-%m-%d %H:%M:%S} UTC", files.certificate,
                 fmt::gmtime(end));
  }
}

}  // namespace

ServedCertificate::ServedCertificate(TlsFiles files, std::shared_ptr<const TlsCertificate> first)
    : files_(std::move(files)), certificate_(std::move(first)) {}

Result<std::unique_ptr<ServedCertificate>> ServedCertificate::Open(TlsFiles files, std::chrono::milliseconds look) {
  FileWatch watch({files.certificate, files.key});
  Result<std::shared_ptr<const TlsCertificate>> first = Status::Error("not read");
  // If a file changes while it is read, the watch reads both files again.
  watch.ReadWhole([&] { first = TlsCertificate::Load(files); });
  if (!first.ok()) return first.status();
  WarnOfReaders(files.key);
  Log(files, first.value()->expires_at());
  std::unique_ptr<ServedCertificate> served(new ServedCertificate(std::move(files), std::move(first).value()));
  served->watch_ =
      std::make_unique<ConfigWatch>(std::move(watch), look, [self = served.get()] { return self->ReadAgain(); });
  return served;
}

std::shared_ptr<const TlsCertificate> ServedCertificate::Now() const {
  const MutexLock lock(mutex_);
  return certificate_;
}

std::function<void()> ServedCertificate::ReadAgain() {
  auto read = TlsCertificate::Load(files_);
  return [this, read = std::move(read)] {
    if (!read.ok()) {
      reload_failures_.fetch_add(1, std::memory_order_relaxed);
      spdlog::error(
          "the certificate in service stays: {}. Put a certificate and its key into both files; they are read again",
          read.status().message());
      return;
    }
    WarnOfReaders(files_.key);
    Log(files_, read.value()->expires_at());
    Serve(read.value());
    reloads_.fetch_add(1, std::memory_order_relaxed);
  };
}

void ServedCertificate::Serve(std::shared_ptr<const TlsCertificate> certificate) {
  const MutexLock lock(mutex_);
  certificate_.swap(certificate);
}

void ServedCertificate::AddTo(TlsStats& stats) const {
  stats.certificate_expires_at = Now()->expires_at();
  stats.reloads += reloads_.load(std::memory_order_relaxed);
  stats.reload_failures += reload_failures_.load(std::memory_order_relaxed);
}

}  // namespace weir
