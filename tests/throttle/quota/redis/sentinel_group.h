// A master with its replicas, and three sentinels that watch it; two of them decide that it is gone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/fixtures/redis_process.h"

namespace weir {

struct SentinelGroupOptions {
  size_t replicas = 1;
  std::string password;                  // of the data servers
  bool sentinels_have_password = false;  // the same
  bool tls = false;                      // all of them
};

class SentinelGroup {
 public:
  static constexpr const char* kName = "weir";

  // Waits until the replicas have the master's data and the sentinels know all of them, and each other.
  explicit SentinelGroup(SentinelGroupOptions options = {});

  // "redis-sentinel://127.0.0.1:P1,127.0.0.1:P2,127.0.0.1:P3/weir", with the password.
  std::string url() const;
  std::string ca_file() const { return servers_[0]->ca_file(); }
  std::vector<std::unique_ptr<RedisProcess>>& servers() { return servers_; }  // 0 is the first master
  std::vector<std::unique_ptr<RedisProcess>>& sentinels() { return sentinels_; }
  RedisProcess& Server(uint16_t port);

  // As most sentinels say; 0 where they do not agree.
  uint16_t MasterPort();
  // Until the sentinels agree on a master other than the server of this port, which says itself that it is one.
  bool FailsOverFrom(uint16_t port);
  // Plans a failover from that server, and waits until it has happened.
  bool FailOverFrom(uint16_t port);
  // With all that they know.
  void RestartSentinels();
  // All of what was written to the master is on its replicas.
  bool Replicated();

 private:
  bool Knows(RedisProcess& sentinel);

  const SentinelGroupOptions options_;
  TempDirectory certificates_;
  std::vector<std::unique_ptr<RedisProcess>> servers_;
  std::vector<std::unique_ptr<RedisProcess>> sentinels_;
};

}  // namespace weir
