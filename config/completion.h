// Completes weir's commands in a shell. `weir completion` prints the script that the shell sources.
//
// The script calls `weir --complete WORD…`; the last word is the one that the user is typing. The program prints a line
// for each choice: the word, a tab and the word's meaning. The line "/" (kAnyFile) tells the shell to offer file names,
// too. So the shell always offers the words that the installed version of the program accepts.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace weir {

inline constexpr std::string_view kComplete = "--complete";
inline constexpr std::string_view kAnyFile = "/";

// Prints the line of the choice `word` if the word begins with `begun`, else nothing.
void PrintChoice(std::string_view word, std::string_view meaning, std::string_view begun, std::ostream& out);

// Runs `weir completion bash|zsh|fish`: prints the script and returns the exit status.
int CompletionCommand(int argc, char** argv);

}  // namespace weir
