// RedisEndpoint: the Redis servers and the login that the URL of a store names.
//
//   redis://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…][/DB]     one server; several addresses are tried one after the other
//   redis-sentinel://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…]/MASTER[/DB]
//   redis-cluster://[USER:PASSWORD@]HOST:PORT[,HOST:PORT…]
//
// "rediss" instead of "redis" at the beginning of these URLs selects TLS. The user, the password and MASTER may have
// %-escapes. A port that is left out is 6379, or 26379 for a sentinel.
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
  std::vector<RedisAddress> addresses;  // addresses of the server, the sentinels, or some nodes of the cluster
  std::string master;                   // the name of the master; only for kSentinel
  std::string user;
  std::string password;
  int database = 0;  // the number of the database
  bool tls = false;
};
// Parses the URL. An error says what is wrong and which form is expected; it never contains the user or the password.
Result<RedisEndpoint> ParseRedisUrl(std::string_view url);
std::string Describe(const RedisEndpoint& endpoint);  // the URL without the user and the password
// Replaces the user and the password by "***" in a text that should be a URL, but may be malformed. A text without an
// '@' stays as it is. This is for error messages, which anyone may read.
std::string WithoutPassword(std::string_view url);

}  // namespace weir
