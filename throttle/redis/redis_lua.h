// A Lua script as the servers know it.
#pragma once

#include <string>
#include <string_view>

namespace weir {

// As EVALSHA names it.
std::string RedisScriptSha(std::string_view script);
// The command (FormatRedisCommand) that has the server load it.
std::string LoadRedisScript(std::string_view script);
// Does nothing, and is refused where a script may not write.
std::string_view RedisProbeScript();

}  // namespace weir
