// RedisProcess: a redis-server for a measurement, on a free port of the loopback address. The server saves nothing to
// disk, and ends with this program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/measure/process.h"
#include "config/status.h"

namespace weir {

class RedisProcess {
 public:
  // Starts the server, and waits until it answers. Its files and its log are in `directory`.
  static Result<std::unique_ptr<RedisProcess>> Start(const std::filesystem::path& directory);

  pid_t pid() const { return process_->pid(); }
  uint16_t port() const { return port_; }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

 private:
  RedisProcess(std::unique_ptr<Process> process, uint16_t port) : process_(std::move(process)), port_(port) {}

  const std::unique_ptr<Process> process_;
  const uint16_t port_;
};

// EvalshaSpy: finds the EVALSHA command that a client sends, by Redis's MONITOR, so that redis-benchmark can send the
// same command. redis-benchmark cannot send an argument with a zero byte. So the spy loads a second script that
// contains the last argument as a constant. Each run of it makes one more Lua table than a run of the first script.
class EvalshaSpy {
 public:
  // Make the spy before the client connects, because the client sends the text of the script only once.
  explicit EvalshaSpy(uint16_t port);
  ~EvalshaSpy();
  EvalshaSpy(const EvalshaSpy&) = delete;
  EvalshaSpy& operator=(const EvalshaSpy&) = delete;

  // Returns the arguments of the first EVALSHA since the spy was made, in a form that redis-benchmark can send.
  Result<std::vector<std::string>> Words();

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace weir
