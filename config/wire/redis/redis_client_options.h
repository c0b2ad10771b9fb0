// RedisClientOptions: how a RedisCore (redis_core.h) connects to its servers and calls them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weir {

// The bounds of one reply. If a server sends a larger reply, the client ends the connection.
struct RedisReplyLimits {
  size_t bytes = size_t{16} << 20;    // bytes of all texts in the reply
  size_t elements = size_t{1} << 20;  // elements of all arrays in the reply
};

struct RedisClientOptions {
  std::chrono::milliseconds timeout{500};           // for the reply to one call
  std::chrono::milliseconds connect_timeout{1000};  // for connecting and logging in together
  uint32_t breaker_failures = 5;  // failed calls in a row after which the server gets only probes, after pauses
  std::chrono::milliseconds retry_first{100};     // the first pause before a probe; each further one is twice as long
  std::chrono::milliseconds retry_longest{5000};  // the longest pause before a probe
  std::string ca_file;                            // certificate authorities (PEM); empty: the system's
  std::string cert_file;                          // the client's certificate (PEM); empty: none
  std::string key_file;                           // the private key of the client's certificate (PEM)
  bool verify = true;                             // whether to verify the server's certificate
  RedisReplyLimits reply;
};

}  // namespace weir
