// A redis-server of a test: on a free port of 127.0.0.1, in a directory of its own, gone with the test, also when the
// test crashes.
//
// Not for several threads, and started by one that lives as long as the server (the kernel ends it with the thread that
// started it). Restart comes back on the same port.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/quota_redis/redis_client.h"
#include "tests/temp_directory.h"

namespace weir {

struct RedisProcessOptions {
  enum class Kind : uint8_t { kServer, kClusterNode, kSentinel };
  Kind kind = Kind::kServer;
  std::vector<std::string> config;  // further lines of redis.conf
  std::string user;                 // of Command; with a password alone, the server asks for that (requirepass)
  std::string password;
  // port() speaks TLS, with a certificate for localhost and 127.0.0.1 of ca_file(). Commands go over another port.
  bool tls = false;
  std::string certificates;  // where they are (MakeCertificates), for several servers; empty: it makes its own
  uint16_t replica_of = 0;   // the port of the master, which has the same password
};

class RedisProcess {
 public:
  enum class Data : uint8_t { kEmpty, kKept };

  // Waits until it answers; throws with its log where it does not.
  explicit RedisProcess(RedisProcessOptions options = {});
  ~RedisProcess();
  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;

  uint16_t port() const { return port_; }
  uint16_t bus_port() const { return bus_port_; }  // of a cluster's node
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url() const { return (options_.tls ? "rediss://" : "redis://") + address(); }  // without password
  std::string ca_file() const { return certificates() + "/ca.crt"; }
  std::string Log() const;

  RedisAnswer Command(const std::vector<std::string>& arguments) { return client_->Command(arguments); }
  // Of INFO.
  std::string Info(const std::string& section, std::string_view field);

  void Stop();    // it says good-bye; what it knows is kept
  void Kill();    // SIGKILL
  void Pause();   // SIGSTOP: connections stay, nothing is answered. Kernel queues still take what is sent
  void Resume();  // SIGCONT
  void Start();   // after Stop or Kill, on the same port. kKept works after Stop alone
  void Restart(Data data);
  bool running() const { return pid_ > 0; }

 private:
  const std::string& certificates() const {
    return options_.certificates.empty() ? directory_.path() : options_.certificates;
  }
  void WriteConfig();
  void Launch();
  bool ComesUp();
  void Reap();

  const RedisProcessOptions options_;
  TempDirectory directory_;
  uint16_t port_ = 0;
  uint16_t command_port_ = 0;
  uint16_t bus_port_ = 0;
  pid_t pid_ = -1;
  std::unique_ptr<RedisClient> client_;
};

}  // namespace weir
