// Fixtures for tests of the storm: a directory that is removed when the test ends, and a small engine.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "bench/measure/temporary_directory.h"
#include "bench/storm/shape.h"

namespace weir {

inline std::unique_ptr<TemporaryDirectory> MakeScratch() {
  return std::move(TemporaryDirectory::Make(std::filesystem::temp_directory_path(), "weir-storm-test")).value();
}

inline StormShape Small(StormShape shape = {}) {
  shape = Scaled(shape, 0.1);
  shape.keys = shape.preloaded_values = std::min<uint64_t>(500, shape.preloaded_values);
  shape.bulk_batch = std::min(shape.bulk_batch, 200);
  shape.bulk_rest_seconds /= 25;
  // A target far above the memory that sanitizers need for themselves.
  shape.memory_target_mib = 32 << 10;
  return shape;
}

}  // namespace weir
