// RedisClientOptions: how a RedisCore (redis_core.h) talks to its servers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weir {

// Bounds of one reply. A server whose reply is larger counts as broken: its connection is ended.
struct RedisReplyLimits {
  size_t bytes = size_t{16} << 20;    // bytes of all texts in the reply
  size_t elements = size_t{1} << 20;  // elements of all arrays in the reply
};

struct RedisClientOptions {
  std::chrono::milliseconds timeout{500};           // for one answer
  std::chrono::milliseconds connect_timeout{1000};  // for connecting and logging in
  uint32_t breaker_failures = 5;  // after this many failed calls in a row the server gets only probes, after pauses
  std::chrono::milliseconds retry_first{100};  // the first pause; each further one is twice as long
  std::chrono::milliseconds retry_longest{5000};
  std::string ca_file;    // certificate authorities (PEM); empty: the system's
  std::string cert_file;  // the client's certificate (PEM); empty: none
  std::string key_file;   // its private key (PEM)
  bool verify = true;     // whether the server's certificate is checked
  RedisReplyLimits reply;
};

}  // namespace weir
