// What this program is, for logs, NIP-11 and metrics.
#pragma once

#include <string>
#include <string_view>

namespace weir {

std::string_view Version();  // "0.1.0"
std::string RocksDbVersion();

}  // namespace weir
