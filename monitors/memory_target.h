// The memory target: how much the whole program may use, and whether the engine's caches fit into it.
//
// A cache fills up and stays full. If caches and write buffers alone reach the level at which the throttle holds,
// memory is high for ever and holding work back cannot lower it (seen in the field: a relay throttled to 31 events/s
// for good). So they may take a fixed share of the target at most, and a target that cannot hold them is an error at
// start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/settings.h"
#include "config/status.h"
#include "monitors/memory_probe.h"

namespace weir {

struct MemoryTargetSettings {
  uint64_t target_memory_mb = 1400;  // 0: kShareOfFree of the free memory
};
void Declare(SettingTable& table, MemoryTargetSettings& settings);

inline constexpr double kShareOfFree = 0.66;

// The throttle's emergency begins at this multiple of the target, unless an operator sets another
// (WEIR_RATE_LIMIT_EMERGENCY).
inline constexpr double kEmergencyOfTarget = 1.167;

// No setpoint holds memory below this share of the target, however low the engine is to be held: waiting does not empty
// a cache, so bulk work would stop for good (in a simulated burst 813 B/s at 0.17, 3.8 MB/s at 0.20).
inline constexpr double kLeastMemorySetpoint = 0.70;
// Caches and write buffers may take at most this share of the target: less than that setpoint, with room to act in.
inline constexpr double kLargestEngineShare = 0.60;
static_assert(kLargestEngineShare < kLeastMemorySetpoint);
// The share that they get if their sizes are not set.
inline constexpr double kUsualEngineShare = 0.50;

// Returns the target in bytes. In a cgroup it leaves room for an emergency below the limit, where the kernel kills.
Result<uint64_t> ResolveMemoryTarget(const MemoryTargetSettings& settings, const MemoryProbe& probe,
                                     double emergency = kEmergencyOfTarget);

struct MemoryNeeds {
  std::optional<uint64_t> block_cache_bytes;   // set by the user
  std::optional<uint64_t> write_buffer_bytes;  // set by the user: the WriteBufferManager's size
  bool charged_to_cache = true;                // write buffers may take their memory from the block cache
  uint64_t least_write_buffer_bytes = 0;       // below this a flush cannot run beside a write
  uint64_t most_write_buffer_bytes = 0;        // more would never be used
};

struct MemoryBudget {
  uint64_t block_cache_bytes = 0;  // with the write buffers, if they are charged to it
  uint64_t write_buffer_bytes = 0;
  bool charged_to_cache = true;  // false if the user's cache is too small for it

  bool operator==(const MemoryBudget&) const = default;
};

Result<MemoryBudget> PlanMemory(uint64_t target_bytes, const MemoryNeeds& needs);

}  // namespace weir
