#include "monitors/memory_target.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace weir {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Holds the index and filter blocks of a small database; with less memory every read would go to the disk.
constexpr uint64_t kLeastCacheBytes = 8 * kMiB;

// The kernel counts more than the throttle does: the allocator keeps some memory beside the bytes that it handed out.
constexpr double kResidentOfUsed = 1.1;

std::string Mebibytes(uint64_t bytes) { return std::to_string((bytes + kMiB - 1) / kMiB) + " MiB"; }

uint64_t Share(uint64_t bytes, double share) { return static_cast<uint64_t>(static_cast<double>(bytes) * share); }

Status DoesNotFit(uint64_t target_bytes, const MemoryBudget& budget) {
  const uint64_t sum = budget.block_cache_bytes + (budget.charged_to_cache ? 0 : budget.write_buffer_bytes);
  const auto least_target = static_cast<uint64_t>(std::ceil(static_cast<double>(sum) / kLargestEngineShare));
  return Status::Error("a memory target of " + Mebibytes(target_bytes) + " cannot hold a block cache of " +
                       Mebibytes(budget.block_cache_bytes) + (budget.charged_to_cache ? " that includes " : " and ") +
                       Mebibytes(budget.write_buffer_bytes) + " of write buffers: they may take " +
                       Mebibytes(Share(target_bytes, kLargestEngineShare)) + " of it (60 %), or memory alone would " +
                       "throttle for ever; the target must be at least " + Mebibytes(least_target) +
                       ", or the block cache or the write buffers (size, number) smaller");
}

}  // namespace

void Declare(SettingTable& table, MemoryTargetSettings& settings) {
  table.Add(
      "RATE_LIMIT_TARGET_MEMORY_MB", &settings.target_memory_mb, {.min = 0, .max = 1 << 24, .unit = "MiB"},
      "memory that the whole program may use; 0: 66 % of what is free in the cgroup or on the host at start. In a "
      "cgroup, at most 78 % of the cgroup's limit, so that an emergency begins before that limit is reached");
}

Result<uint64_t> ResolveMemoryTarget(const MemoryTargetSettings& settings, const MemoryProbe& probe, double emergency) {
  const Result<MemoryRoom> room = probe.ReadRoom();
  if (settings.target_memory_mb == 0) {
    if (!room.ok()) {
      return Status::Error("WEIR_RATE_LIMIT_TARGET_MEMORY_MB=0 takes the target from what is free, but " +
                           room.status().message() + "; set a number of MiB");
    }
  }
  const uint64_t target_bytes =
      settings.target_memory_mb > 0 ? settings.target_memory_mb * kMiB : Share(room.value().free_bytes(), kShareOfFree);
  // If there is no cgroup limit, or it cannot be read, the target stands as it is.
  if (!room.ok() || !room.value().cgroup_limit_bytes) return target_bytes;
  return std::min(target_bytes,
                  Share(*room.value().cgroup_limit_bytes, 1 / (kResidentOfUsed * std::max(1.0, emergency))));
}

Result<MemoryBudget> PlanMemory(uint64_t target_bytes, const MemoryNeeds& needs) {
  const uint64_t most_bytes = Share(target_bytes, kLargestEngineShare);
  const uint64_t usual_bytes = Share(target_bytes, kUsualEngineShare);

  MemoryBudget budget;
  // A quarter of the target is for write buffers, because reads need the rest of the engine's share.
  budget.write_buffer_bytes = needs.write_buffer_bytes.value_or(
      std::max(needs.least_write_buffer_bytes, std::min(needs.most_write_buffer_bytes, target_bytes / 4)));
  const uint64_t with_blocks = budget.write_buffer_bytes + kLeastCacheBytes;
  budget.charged_to_cache = needs.charged_to_cache && needs.block_cache_bytes.value_or(with_blocks) >= with_blocks;
  const uint64_t beside_cache = budget.charged_to_cache ? 0 : budget.write_buffer_bytes;
  const uint64_t usual_cache = usual_bytes > beside_cache ? usual_bytes - beside_cache : 0;
  const uint64_t least_cache = budget.charged_to_cache ? with_blocks : kLeastCacheBytes;
  budget.block_cache_bytes = needs.block_cache_bytes.value_or(std::max(least_cache, usual_cache));

  if (budget.block_cache_bytes + beside_cache > most_bytes) return DoesNotFit(target_bytes, budget);
  return budget;
}

}  // namespace weir
