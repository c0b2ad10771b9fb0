// A redis-server for a measurement: on a free port of the loopback. It saves nothing and ends with this program.
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
  // Returns when it answers. Its files and its log go to `directory`.
  static Result<std::unique_ptr<RedisProcess>> Start(const std::filesystem::path& directory);

  pid_t pid() const { return process_->pid(); }
  uint16_t port() const { return port_; }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

 private:
  RedisProcess(std::unique_ptr<Process> process, uint16_t port) : process_(std::move(process)), port_(port) {}

  const std::unique_ptr<Process> process_;
  const uint16_t port_;
};

// Finds the script that a client makes the server run, as MONITOR shows it. redis-benchmark can send no word with a
// zero byte, so the script is loaded once more with its last word written into it, which is one table more for each
// run.
class EvalshaSpy {
 public:
  // Make it before the client connects: the script's text goes by only once.
  explicit EvalshaSpy(uint16_t port);
  ~EvalshaSpy();
  EvalshaSpy(const EvalshaSpy&) = delete;
  EvalshaSpy& operator=(const EvalshaSpy&) = delete;

  // Returns the words of the first EVALSHA since this was made, as redis-benchmark can send them.
  Result<std::vector<std::string>> Words();

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

// Returns the words of a line of MONITOR, `1700000000.12 [0 127.0.0.1:5000] "EVALSHA" "ab\x00"`; none if the line is
// not a client's.
std::vector<std::string> WordsOfMonitor(const std::string& line);

}  // namespace weir
