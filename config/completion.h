// Completes weir's commands in a shell: prints the script that the shell sources, and answers what this script asks.
//
// The script asks `weir --complete WORD…`, the last of which is the one that is being typed. The answer has a line for
// each choice: the word and, behind a tab, what it means; kAnyFile alone stands for the files that there are. So what
// is offered is what the program takes, of whatever version it is.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace weir {

inline constexpr std::string_view kComplete = "--complete";
inline constexpr std::string_view kAnyFile = "/";

// Nothing where the choice does not begin so.
void PrintChoice(std::string_view word, std::string_view meaning, std::string_view begun, std::ostream& out);

// weir completion bash|zsh|fish: prints the script.
int CompletionCommand(int argc, char** argv);

}  // namespace weir
