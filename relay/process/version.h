// The program's version, for logs, NIP-11 and metrics.
#pragma once

#include <string>
#include <string_view>

namespace weir {

std::string_view Version();    // "1.2.3", set in CMakeLists.txt
std::string RocksDbVersion();  // "9.0.0", of the RocksDB with which the program was compiled

}  // namespace weir
