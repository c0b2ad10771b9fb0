// Helper functions for the checks of `weir doctor`: they find the worst finding, format figures, and compute memory
// targets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "config/clock.h"
#include "config/text/in_words.h"
#include "config/text/readable.h"
#include "monitors/memory_target.h"
#include "relay/doctor/check.h"

namespace weir {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;

// Calls `find` for each element of `things`, and returns the worst finding; among equally bad ones, the first. Returns
// nullopt if `find` returned no finding.
template <typename Things, typename Find>
std::optional<Finding> WorstOf(const Things& things, Find find) {
  std::optional<Finding> worst;
  for (const auto& thing : things) {
    std::optional<Finding> found = find(thing);
    if (found && (!worst || found->severity > worst->severity)) worst = std::move(found);
  }
  return worst;
}

// Returns the path, in quotes unless a shell reads it as one word without them.
inline std::string Quoted(const std::string& path) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+,:=@%";
  if (!path.empty() && path.find_first_not_of(kPlain) == path.npos) return path;
  std::string quoted = "'";
  for (const char c : path) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

inline std::string Mebibytes(uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

// Returns "4.2 ms", "43 ms".
inline std::string Milliseconds(double seconds) { return Fixed(seconds * 1000, seconds < 0.01 ? 1 : 0) + " ms"; }

// Returns "1 event", "2 events".
inline std::string Count(uint64_t count, const std::string& what) {
  return ShortNumber(count) + " " + what + (count == 1 ? "" : "s");
}

// Returns the setting that sets the memory target to `bytes`, rounded down to whole MiB, but at least 1 MiB.
inline std::string TargetOf(double bytes) {
  return "WEIR_RATE_LIMIT_TARGET_MEMORY_MB=" + std::to_string(std::max<uint64_t>(1, AsCount(bytes) / kMiB));
}

// Returns the resident memory of the relay on this machine: 0 if no relay runs, nullopt if a relay may be running but
// did not show its metrics.
inline std::optional<uint64_t> ResidentBytes(const Facts& facts) {
  if (const InstanceFacts* relay = LocalRelay(facts))
    return AsCount(relay->metrics.Get("process_resident_memory_bytes"));
  if (facts.relay_may_run()) return std::nullopt;
  return 0;
}

// Returns the memory target, in bytes, with which the memory emergency begins about a tenth below `limit_bytes`.
inline double TargetWithin(const Facts& facts, uint64_t limit_bytes) {
  return static_cast<double>(limit_bytes) / (1.1 * facts.settings.relay.storage.limiter.emergency);
}

// Returns the largest memory target in bytes that fits into the free memory of this machine and, if the relay's cgroup
// has a limit, into that limit. Returns nullopt if the free memory or the relay's memory is not known.
inline std::optional<double> LargestTarget(const Facts& facts) {
  const std::optional<uint64_t> resident = ResidentBytes(facts);
  if (!facts.host.room || !resident) return std::nullopt;
  const double share = kShareOfFree * static_cast<double>(facts.host.room->free_bytes() + *resident);
  if (!facts.host.room->cgroup_limit_bytes) return share;
  return std::min(share, TargetWithin(facts, *facts.host.room->cgroup_limit_bytes));
}

}  // namespace weir
