// What this program is, for logs, NIP-11 and metrics.
#pragma once

#include <string>
#include <string_view>

namespace weir {

std::string_view Version();  // "1.2.3", which CMakeLists.txt says
std::string RocksDbVersion();

}  // namespace weir
