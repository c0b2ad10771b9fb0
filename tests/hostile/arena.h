// Arena: a real relay with a database of its own, which is filled before the relay starts. The arena measures the
// relay's memory.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/relay/launch.h"
#include "config/status.h"
#include "tests/fixtures/tls_forwarder.h"

namespace weir {

struct ArenaOptions {
  std::filesystem::path program;      // weir
  std::filesystem::path scratch;      // the database is made in it
  std::vector<std::string> settings;  // "WEIR_COMPRESSION=true"
  bool by_tls = false;                // the relay's port speaks TLS
  std::string_view config = {};       // content of {dir}/config/limits.yaml
  std::string_view limits = {};       // shell commands that run before the relay starts
  // Calls `store` with the JSON of every event that is to be stored before the relay starts.
  std::function<void(const std::function<void(const std::string& json)>& store)> fill;
};

class Arena {
 public:
  static Result<std::unique_ptr<Arena>> Start(const ArenaOptions& options);
  ~Arena();

  uint16_t port() const { return relay_.target.endpoint.port; }
  // The port for clients that speak in clear; a forwarder's if the relay speaks TLS.
  uint16_t clear_port() const { return front_ ? front_->port() : port(); }
  std::filesystem::path data_dir() const { return relay_.target.db; }
  // Returns why the relay ended; "" if it runs.
  std::string Fate() { return relay_.process->Fate(); }

  // A failure that the attack itself found.
  std::string complaint;

  // Returns the memory of the relay's process in MiB, without files that it maps.
  double AnonymousMb() const;
  double PartMb(std::string_view part) const;
  // Returns the highest AnonymousMb since the last call.
  double TakePeakMb() { return peak_mb_.exchange(AnonymousMb()); }

 private:
  Arena() = default;
  void Watch();

  std::unique_ptr<TemporaryDirectory> directory_;
  std::unique_ptr<TlsForwarder> front_;
  RunningRelay relay_;
  std::atomic<double> peak_mb_{0};
  std::atomic<bool> stops_{false};
  std::thread watch_;
};

}  // namespace weir
