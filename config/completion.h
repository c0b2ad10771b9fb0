// Completes weir's commands in a shell: prints the script that the shell sources, and answers what this script asks.
//
// The script calls `weir --complete WORD…`; the last word is the one that is being typed. The answer has a line for
// each choice: the word, a tab and its meaning; kAnyFile alone stands for any file name. So the shell offers what the
// installed version of the program takes.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace weir {

inline constexpr std::string_view kComplete = "--complete";
inline constexpr std::string_view kAnyFile = "/";

// Prints the choice `word`, if it begins with `begun`.
void PrintChoice(std::string_view word, std::string_view meaning, std::string_view begun, std::ostream& out);

// weir completion bash|zsh|fish: prints the script.
int CompletionCommand(int argc, char** argv);

}  // namespace weir
