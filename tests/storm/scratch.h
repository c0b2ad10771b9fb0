// A directory that goes with the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "bench/storm/engine.h"

namespace weir {

inline std::unique_ptr<ScratchDirectory> MakeScratch() {
  return std::move(ScratchDirectory::Make(std::filesystem::temp_directory_path(), "weir-storm-test")).value();
}

}  // namespace weir
