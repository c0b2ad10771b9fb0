#include "config/wire/redis/redis_lua.h"

#include <openssl/evp.h>

#include <array>

#include "config/wire/redis/redis_call.h"

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

// A script that begins with #! and does not declare that it only reads counts as a write. A server refuses it if the
// server is out of memory, cannot save its data, has too few replicas, or is a replica. The script needs no key, so
// each node of a cluster runs it, whatever slots the node has.
std::string_view RedisProbeScript() { return "#!lua\nreturn 1"; }

std::string LoadRedisScript(std::string_view script) { return FormatRedisCommand({"SCRIPT", "LOAD", script}); }

}  // namespace weir
