// Replaces the content of a file in one step.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace weir {

// Replaces the file `name` by one with the content `text`. The new file has the mode of the old one, or 0644 if there
// was none, in both cases without the bits of the umask. ReplaceFile writes NAME.new, syncs it to the disk and renames
// it: until then, and after a failure, the old file is unchanged. Returns false on failure; errno then says why.
bool ReplaceFile(const std::string& name, std::string_view text);
// Does the same with the pieces of text that calls of `next` return. An empty piece is the end of the text.
bool ReplaceFile(const std::string& name, const std::function<std::string_view()>& next);

}  // namespace weir
