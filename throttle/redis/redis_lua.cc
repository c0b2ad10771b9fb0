#include "throttle/redis/redis_lua.h"

#include <openssl/evp.h>

#include <array>

#include "throttle/redis/redis_call.h"

namespace weir {

std::string RedisScriptSha(std::string_view script) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(script.data(), script.size(), digest.data(), &size, EVP_sha1(), nullptr);
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) text.append({kHex[digest[i] >> 4], kHex[digest[i] & 15]});
  return text;
}

// A script that begins with #! and does not declare that it only reads is checked before it begins: out of memory,
// without a disk or replicas that must be there, or as a replica, the server refuses it. It needs no key: on a cluster
// each node accepts it, whatever its slots.
std::string_view RedisProbeScript() { return "#!lua\nreturn 1"; }

std::string LoadRedisScript(std::string_view script) { return FormatRedisCommand({"SCRIPT", "LOAD", script}); }

}  // namespace weir
