// Many processes on one store. Each child is this program again and decides against the store of a URL
// (OpenQuotaStore). A test program links hammer.cc and hammer_main.cc, which has the main function.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "throttle/quota/quota_store.h"

namespace weir {

// The children ask for tokens of this model, which a tier of 24 h limits.
inline constexpr std::string_view kHammeredModel = "hammered";
TierCharge HammeredTier(int64_t limit);
// Returns the tier's tokens that count now, and with `usage` also the model's usage.
int64_t HammeredTokens(QuotaStore& store, ModelUsage* usage = nullptr);

struct HammerSum {
  int64_t requests = 0;  // charged requests
  int64_t tokens = 0;
  int64_t unavailable = 0;  // failures of the store, after which the child asked again
  int64_t failed = 0;       // children that ended with an error
};

// Each process takes 1 to 7 tokens at a time, until not even one is left.
HammerSum HammerTakes(const std::string& store, size_t processes, int64_t limit);
// Each process records 3 tokens this many times, whatever the limit.
HammerSum HammerRecords(const std::string& store, size_t processes, int64_t times);
// Each process this many times reserves and commits, then reserves and refunds. Returns the counts that should be left.
HammerSum HammerReservations(const std::string& store, size_t processes, int64_t times);
// Each process reserves 10 tokens for an hour, with a second tier whose window is shorter, and is then killed. Returns
// how many did reserve.
size_t HammerKilledHolders(const std::string& store, size_t processes);

// The sliding window of the test.
inline constexpr Duration kHammeredWindow = std::chrono::seconds(1);
struct HammerWindow {
  // The most tokens taken within less than a window, from grants that were both asked for and answered in it.
  int64_t most = 0;
  int64_t taken = 0;
  int64_t failed = 0;  // children that ended with an error
};
// Each process takes 1 to 7 tokens at a time for two and a half windows. Meanwhile one more process prunes, and asks
// for new names, for which there is no room.
HammerWindow HammerSlidingWindow(const std::string& store, size_t processes, int64_t limit);

inline constexpr const char* kHammerRole = "WEIR_QUOTA_HAMMER";
int RunHammerChild(const std::string& role);

}  // namespace weir
