// Options of a Redis client, for a RedisCore.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weir {

// Bounds of one reply; a server whose reply is larger counts as broken.
struct RedisReplyLimits {
  size_t bytes = size_t{16} << 20;    // all texts in it
  size_t elements = size_t{1} << 20;  // all arrays in it
};

struct RedisClientOptions {
  std::chrono::milliseconds timeout{500};  // for an answer
  std::chrono::milliseconds connect_timeout{1000};
  uint32_t breaker_failures = 5;  // in a row; then it is asked no more, except by a probe after pauses that double
  std::chrono::milliseconds retry_first{100};
  std::chrono::milliseconds retry_longest{5000};
  std::string ca_file;    // empty: the system's
  std::string cert_file;  // the client's, with its key; empty: none
  std::string key_file;
  bool verify = true;  // whether the server's certificate is checked
  RedisReplyLimits reply;
};

}  // namespace weir
