// Measures the memory that this program itself holds.
#pragma once

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <string>

namespace weir {

// Returns the bytes that this program has allocated with glibc's malloc and not freed.
inline size_t HeapBytes() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

inline double ResidentKb() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.starts_with("VmRSS:")) return std::atof(line.c_str() + 6);
  return 0;
}

}  // namespace weir
