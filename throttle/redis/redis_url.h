// The addresses of the Redis servers, as a store's URL names them.
//
//   redis://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…][/DB]     one server, of which several addresses are tried in turn
//   redis-sentinel://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…]/MASTER[/DB]
//   redis-cluster://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…]
//
// rediss…: over TLS.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"

namespace weir {

struct RedisAddress {
  std::string host;
  uint16_t port = 6379;
  bool operator==(const RedisAddress&) const = default;
};
std::string Describe(const RedisAddress& address);  // "127.0.0.1:6379", "[::1]:6379"

struct RedisEndpoint {
  enum class Kind : uint8_t { kStandalone, kSentinel, kCluster };
  Kind kind = Kind::kStandalone;
  std::vector<RedisAddress> addresses;  // the server's, or the sentinels', or some of the cluster's nodes
  std::string master;                   // kSentinel: its name
  std::string user;
  std::string password;
  int database = 0;
  bool tls = false;
};
Result<RedisEndpoint> ParseRedisUrl(std::string_view url);
std::string Describe(const RedisEndpoint& endpoint);  // the URL without user and password
// The same for a text that may be no URL. A URL may have a password in it, and anyone may read errors.
std::string WithoutPassword(std::string_view url);

}  // namespace weir
