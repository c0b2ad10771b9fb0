#pragma once

#include <string>
#include <string_view>

namespace weir {

// Replaces the file of that name by one with this text and the same mode. It is written as NAME.new and renamed when it
// is on disk: until then, and after a failure, the old file stands. Returns false on failure; errno says why.
bool ReplaceFile(const std::string& name, std::string_view text);

}  // namespace weir
