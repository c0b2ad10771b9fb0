// Declares the function that each *_fuzzer.cc defines. libFuzzer and replay.cc call it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace weir {

inline std::string_view Text(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

// Removes and returns the first byte, by which an input chooses a variant of the test; 0 if the text is empty.
inline uint8_t TakeByte(std::string_view* text) {
  if (text->empty()) return 0;
  const auto byte = static_cast<uint8_t>(text->front());
  text->remove_prefix(1);
  return byte;
}

}  // namespace weir
