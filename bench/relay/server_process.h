// A relay that this program starts, waits for and stops, by its process id and no other way.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>

#include "bench/relay/endpoint.h"
#include "config/clock.h"
#include "config/status.h"

namespace weir {

class ServerProcess {
 public:
  // Returns when the port answers a WebSocket handshake. `sh` runs the command; where that has more than one step, the
  // last must begin with exec, so that the process measured is the relay and not a shell. What it prints goes to `log`.
  static Result<std::unique_ptr<ServerProcess>> Start(const std::string& command, const Endpoint& endpoint,
                                                      const std::filesystem::path& log);
  // Stops it if Stop has not.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Empty while it runs; else how it ended, and what it said last.
  std::string Fate();
  // SIGTERM, and after 60 s SIGKILL, which is an error.
  Status Stop();

 private:
  ServerProcess(pid_t pid, std::filesystem::path log) : pid_(pid), log_(std::move(log)) {}
  Status WaitUntilItAnswers(const Endpoint& endpoint);
  // Within this time.
  bool Ended(Duration patience);

  pid_t pid_;  // 0: it has ended
  std::string end_;
  const std::filesystem::path log_;
};

// Of what a program printed: what it said last.
std::string LastLine(const std::filesystem::path& log);

}  // namespace weir
