// Helpers for the Lua scripts that servers run: their names, the commands that load them, and the script of a probe.
#pragma once

#include <string>
#include <string_view>

namespace weir {

// Returns the name by which EVALSHA calls the script: its SHA-1 in hex digits.
std::string RedisScriptSha(std::string_view script);
// Returns the command, in the form of FormatRedisCommand, that makes a server load the script.
std::string LoadRedisScript(std::string_view script);
// Returns a script that does nothing, but that a server refuses to run while it refuses writes.
std::string_view RedisProbeScript();

}  // namespace weir
