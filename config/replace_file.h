#pragma once

#include <string>
#include <string_view>

namespace weir {

// Puts a file with this text in the place of the one of that name, with its mode. It is written as NAME.new and renamed
// when it is on disk: until then, and where that fails, the file from before stands. Else errno says why not.
bool ReplaceFile(const std::string& name, std::string_view text);

}  // namespace weir
