// Messages and exit codes of all verbs of `weir quota`.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace weir {

// Exit codes of the program.
inline constexpr int kExitAllowed = 0;
inline constexpr int kExitRefused = 1;
inline constexpr int kExitWrong = 2;

inline constexpr const char* kMemoryIsGone = "memory is gone with this process; name a store that stays";

inline int Complain(const std::string& problem) {
  std::fprintf(stderr, "weir quota: %s\n", problem.c_str());
  return kExitWrong;
}

inline int Print(std::string_view text, int code) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? code : Complain("cannot write to standard output");
}

}  // namespace weir
