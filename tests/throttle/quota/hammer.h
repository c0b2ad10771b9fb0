// Many processes on one store: this program once more, as a child that decides against the store of a URL
// (OpenQuotaStore). A test program links hammer.cc and hammer_main.cc, which has the main function.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "throttle/quota/quota_store.h"

namespace weir {

// What the children ask for: tokens of this model, which a tier of 24 h limits.
inline constexpr std::string_view kHammeredModel = "hammered";
TierCharge HammeredTier(int64_t limit);
// What counts now: the tier's tokens, and with `usage` the model's.
int64_t HammeredTokens(QuotaStore& store, ModelUsage* usage = nullptr);

struct HammerSum {
  int64_t requests = 0;  // that were charged
  int64_t tokens = 0;
  int64_t unavailable = 0;  // answers that there was no answer; asked again
  int64_t failed = 0;       // children that did not end well
};

// Each takes 1 to 7 tokens at a time, until not even one is left.
HammerSum HammerTakes(const std::string& store, size_t processes, int64_t limit);
// Each records 3 tokens so many times, whatever the limit.
HammerSum HammerRecords(const std::string& store, size_t processes, int64_t times);
// Each reserves and commits, reserves and refunds, so many times: the counts that should be left.
HammerSum HammerReservations(const std::string& store, size_t processes, int64_t times);
// Each reserves 10 tokens for an hour, with a second tier whose window is shorter than that, and is killed then. How
// many did reserve.
size_t HammerKilledHolders(const std::string& store, size_t processes);

// A window that slides while they take from it.
inline constexpr Duration kHammeredWindow = std::chrono::seconds(1);
struct HammerWindow {
  // The most that was taken within less than a window: of grants that were asked for and answered in it.
  int64_t most = 0;
  int64_t taken = 0;
  int64_t failed = 0;  // children that did not end well
};
// Each takes 1 to 7 tokens at a time for two and a half windows. One more process prunes meanwhile, and asks for names
// of its own, for which there is no room.
HammerWindow HammerSlidingWindow(const std::string& store, size_t processes, int64_t limit);

inline constexpr const char* kHammerRole = "WEIR_QUOTA_HAMMER";
int RunHammerChild(const std::string& role);

}  // namespace weir
