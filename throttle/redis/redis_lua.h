// A Lua script as the servers know it.
#pragma once

#include <string>
#include <string_view>

namespace weir {

// The name that EVALSHA uses.
std::string RedisScriptSha(std::string_view script);
// The command (FormatRedisCommand) that makes the server load it.
std::string LoadRedisScript(std::string_view script);
// A script that does nothing, and is refused if a script may not write.
std::string_view RedisProbeScript();

}  // namespace weir
