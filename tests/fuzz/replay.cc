// The main function of a fuzz target without libFuzzer: runs each named file, and each file of a named directory,
// through the target. If it fails, the file that was printed last is the cause.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "tests/fuzz/target.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (fs::is_regular_file(argv[i])) files.emplace_back(argv[i]);
    if (!fs::is_directory(argv[i])) continue;
    for (const fs::directory_entry& entry : fs::directory_iterator(argv[i])) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    std::cout << file.string() << std::endl;
    std::ifstream in(file, std::ios::binary);
    // The buffer has not a byte more, so that a sanitizer sees reads beyond the end.
    const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(in), {});
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  if (!files.empty()) return 0;
  std::cerr << "no input: name files, or directories of some\n";
  return 1;
}
