// BareServer: shows the kernel's cost of an answer over HTTP/1.1. Two threads with an epoll each receive bytes and send
// always the same answer; they read and decide nothing. No server that answers each request by itself can cost less.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "config/status.h"

namespace weir {

// It is a process of its own, so that its processor time can be measured; it ends with its owner.
class BareServer {
 public:
  static Result<std::unique_ptr<BareServer>> Start(const std::string& answer);
  ~BareServer();

  BareServer(const BareServer&) = delete;
  BareServer& operator=(const BareServer&) = delete;

  pid_t pid() const { return pid_; }
  uint16_t port() const { return port_; }

 private:
  BareServer(pid_t pid, uint16_t port) : pid_(pid), port_(port) {}

  const pid_t pid_;
  const uint16_t port_;
};

}  // namespace weir
