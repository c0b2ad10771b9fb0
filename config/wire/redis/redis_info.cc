#include "config/wire/redis/redis_info.h"

#include <charconv>

#include "config/text/parse.h"

namespace weir {

std::string_view RedisInfoField(std::string_view info, std::string_view name) {
  while (!info.empty()) {
    const size_t end = std::min(info.find("\r\n"), info.size());
    const std::string_view line = info.substr(0, end);
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':')
      return line.substr(name.size() + 1);
    info.remove_prefix(std::min(end + 2, info.size()));
  }
  return {};
}

Status CheckRedisServer(std::string_view info) {
  if (RedisInfoField(info, "redis_mode") == "sentinel")
    return Status::Error("this is a Sentinel: the store's URL must be redis-sentinel://HOST:PORT/MASTER");
  const std::string_view version = RedisInfoField(info, "redis_version");
  int major = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), major);
  if (error != std::errc() || major >= kOldestRedis) return {};
  return Status::Error("it is Redis " + Printable(version) + ", and weir needs " + std::to_string(kOldestRedis) +
                       " or later");
}

std::string WarnOfEviction(std::string_view info) {
  const std::string_view policy = RedisInfoField(info, "maxmemory_policy");
  const std::string_view most = RedisInfoField(info, "maxmemory");
  if (most.empty() || most == "0" || policy.empty() || policy == "noeviction") return {};
  return "its maxmemory-policy is " + Printable(policy) +
         ": set maxmemory-policy noeviction: evicted counts admit too much";
}

}  // namespace weir
