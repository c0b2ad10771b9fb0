#include "bench/measure/temporary_directory.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace weir {

namespace fs = std::filesystem;

Result<std::unique_ptr<TemporaryDirectory>> TemporaryDirectory::Make(const fs::path& parent,
                                                                     const std::string& prefix) {
  std::string name = (parent / (prefix + "-XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr)
    return Status::Error("cannot make a directory in " + parent.string() + ": " + std::strerror(errno));
  return std::unique_ptr<TemporaryDirectory>(new TemporaryDirectory(name));
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;  // the rest is among temporary files
  fs::remove_all(path_, ignored);
}

}  // namespace weir
