// BareServer: shows what an answer over HTTP/1.1 costs in the kernel. Two threads with an epoll each receive bytes and
// send one fixed answer for each read. They parse no request and decide nothing. No server that sends one answer for
// each request can cost less.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "config/status.h"

namespace weir {

// The server runs in a process of its own, so that its processor time can be measured. The destructor ends the process.
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
