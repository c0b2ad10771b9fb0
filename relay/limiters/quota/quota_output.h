// The exit statuses of `weir quota`, and the functions with which its verbs print.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace weir {

// The exit statuses of the program.
inline constexpr int kExitAllowed = 0;  // allowed or done
inline constexpr int kExitRefused = 1;  // refused; the model or reservation is not known; the reservation has ended
inline constexpr int kExitWrong = 2;    // any other failure: wrong arguments, or the gate or store does not answer

// The error message if an argument names the store "memory".
inline constexpr const char* kMemoryIsGone = "memory is gone with this process; name a store that stays";

// Prints the problem on standard error, and returns kExitWrong.
inline int Complain(const std::string& problem) {
  std::fprintf(stderr, "weir quota: %s\n", problem.c_str());
  return kExitWrong;
}

// Prints the text on standard output and returns `code`. If the text cannot be written, returns Complain(…).
inline int Print(std::string_view text, int code) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? code : Complain("cannot write to standard output");
}

}  // namespace weir
