// What the scripts that charge and settle have in common: the beginning of both, in Lua.
#pragma once

#include <string_view>

namespace weir {

std::string_view RedisCommonLua();

}  // namespace weir
