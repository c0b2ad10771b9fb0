// SentinelGroup: a Redis master with its replicas, and three sentinels that watch it. The sentinels treat the master as
// failed when two of them do not reach it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/fixtures/redis_process.h"

namespace weir {

struct SentinelGroupOptions {
  std::chrono::milliseconds down_after{500};  // silence after which the sentinels take a server for dead
  size_t replicas = 1;
  std::string password;                  // for the data servers
  bool sentinels_have_password = false;  // the same password
  bool tls = false;                      // for all servers
};

class SentinelGroup {
 public:
  static constexpr const char* kName = "weir";

  // Waits until the replicas have the master's data, and each sentinel knows all of them and the other sentinels.
  explicit SentinelGroup(SentinelGroupOptions options = {});

  // "redis-sentinel://127.0.0.1:P1,127.0.0.1:P2,127.0.0.1:P3/weir", with the password.
  std::string url() const;
  std::string ca_file() const { return servers_[0]->ca_file(); }
  std::vector<std::unique_ptr<RedisProcess>>& servers() { return servers_; }  // [0] is the first master
  std::vector<std::unique_ptr<RedisProcess>>& sentinels() { return sentinels_; }
  RedisProcess& Server(uint16_t port);

  // Returns the master that most sentinels name, or 0 if they disagree.
  uint16_t MasterPort();
  // Waits until the sentinels agree on a master other than the server of this port, and it considers itself a master.
  bool FailsOverFrom(uint16_t port);
  // Orders a failover from that server, and waits until it has happened.
  bool FailOverFrom(uint16_t port);
  // Restarts the sentinels, which keep their state.
  void RestartSentinels();
  // Waits until the replicas have all data that was written to the master.
  bool Replicated();

 private:
  bool Knows(RedisProcess& sentinel);

  const SentinelGroupOptions options_;
  TempDirectory certificates_;
  std::vector<std::unique_ptr<RedisProcess>> servers_;
  std::vector<std::unique_ptr<RedisProcess>> sentinels_;
};

}  // namespace weir
