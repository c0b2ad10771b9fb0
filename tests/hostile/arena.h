// Arena: a real relay on a database of its own, filled before it starts, whose memory is watched.
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
  std::filesystem::path scratch;      // where the database is made
  std::vector<std::string> settings;  // "WEIR_COMPRESSION=true"
  bool by_tls = false;                // the port speaks TLS
  std::string_view config = {};       // what stands in {dir}/config/limits.yaml
  std::string_view limits = {};       // commands of the shell before it starts
  // Hands every event that is to be stored before the relay starts to `store`, as JSON.
  std::function<void(const std::function<void(const std::string& json)>& store)> fill;
};

class Arena {
 public:
  static Result<std::unique_ptr<Arena>> Start(const ArenaOptions& options);
  ~Arena();

  uint16_t port() const { return relay_.target.endpoint.port; }
  // Of a way to it in clear, where it speaks TLS.
  uint16_t clear_port() const { return front_ ? front_->port() : port(); }
  std::filesystem::path data_dir() const { return relay_.target.db; }
  // Why it ended, where it did.
  std::string Fate() { return relay_.process->Fate(); }

  // What an attack found broken by itself.
  std::string complaint;

  // In MiB: of the process, without files that it maps; and a part of it that it accounts for (of /metrics).
  double AnonymousMb() const;
  double PartMb(std::string_view part) const;
  // The most since it was last asked.
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
