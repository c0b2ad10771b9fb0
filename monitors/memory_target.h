// The memory target: how much memory the whole program may use. This file computes the target and divides it between
// the engine's caches and the rest.
//
// A cache fills up and stays full. If caches and write buffers alone reach the level at which the throttle makes work
// wait, memory stays high for ever, because waiting does not lower it (a relay in use stayed throttled to 31 events/s
// for this reason). So caches and write buffers may take at most a fixed share of the target, and a target that is too
// small for them is an error at start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/settings.h"
#include "config/status.h"
#include "monitors/memory_probe.h"

namespace weir {

struct MemoryTargetSettings {
  uint64_t target_memory_mb = 1400;  // MiB; 0: kShareOfFree of the memory that is free at start
};
void Declare(SettingTable& table, MemoryTargetSettings& settings);

inline constexpr double kShareOfFree = 0.66;

// The multiple of the target at which the throttle's emergency begins (throttle/adaptive_limiter.h), unless the
// operator sets another (WEIR_RATE_LIMIT_EMERGENCY).
inline constexpr double kEmergencyOfTarget = 1.167;

// The lowest setpoint for the signals memory and own, even if the setpoint of the other signals is lower. Waiting does
// not empty a cache, so a lower setpoint could stop bulk work for good (in a simulated burst, bulk work got 813 B/s
// with a setpoint of 0.17, and 3.8 MB/s with 0.20).
inline constexpr double kLeastMemorySetpoint = 0.70;
// The largest share of the target that caches and write buffers may take. It is below kLeastMemorySetpoint, so that the
// throttle has room to act.
inline constexpr double kLargestEngineShare = 0.60;
static_assert(kLargestEngineShare < kLeastMemorySetpoint);
// The share of the target that caches and write buffers get if the user does not set their sizes.
inline constexpr double kUsualEngineShare = 0.50;

// Returns the target in bytes. If a cgroup has a limit, the target is low enough for an emergency, which begins at
// `emergency` times the target, to begin before the kernel kills the process. Returns an error if target_memory_mb is 0
// and the free memory cannot be read.
Result<uint64_t> ResolveMemoryTarget(const MemoryTargetSettings& settings, const MemoryProbe& probe,
                                     double emergency = kEmergencyOfTarget);

// The memory that an engine needs for its block cache and its write buffers.
struct MemoryNeeds {
  std::optional<uint64_t> block_cache_bytes;   // size that the user set; nullopt: none
  std::optional<uint64_t> write_buffer_bytes;  // size of the WriteBufferManager that the user set; nullopt: none
  bool charged_to_cache = true;                // true if write buffers may take their memory from the block cache
  uint64_t least_write_buffer_bytes = 0;       // with less, a flush cannot run beside a write
  uint64_t most_write_buffer_bytes = 0;        // the engine would never use more
};

// The sizes that the engine gets.
struct MemoryBudget {
  uint64_t block_cache_bytes = 0;  // includes the write buffers if charged_to_cache is true
  uint64_t write_buffer_bytes = 0;
  bool charged_to_cache = true;  // false also if the cache that the user set is too small for the write buffers

  bool operator==(const MemoryBudget&) const = default;
};

// Returns the sizes: those that the user set, and for the others a share of the target. If the sizes exceed
// kLargestEngineShare of the target, returns an error that names a sufficient target.
Result<MemoryBudget> PlanMemory(uint64_t target_bytes, const MemoryNeeds& needs);

}  // namespace weir
