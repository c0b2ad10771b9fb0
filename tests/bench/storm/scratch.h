// A directory that goes with the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "bench/measure/temporary_directory.h"

namespace weir {

inline std::unique_ptr<TemporaryDirectory> MakeScratch() {
  return std::move(TemporaryDirectory::Make(std::filesystem::temp_directory_path(), "weir-storm-test")).value();
}

}  // namespace weir
