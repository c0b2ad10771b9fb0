// Runs many processes on one quota store. Each child process is this test program, started again; it opens the store of
// a URL (OpenQuotaStore) and makes decisions. A test program links hammer.cc and hammer_main.cc, which has the main
// function.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "throttle/limits/quota/quota_store.h"

namespace weir {

// The children ask for tokens of this model, which a tier of 24 h limits.
inline constexpr std::string_view kHammeredModel = "hammered";
TierCharge HammeredTier(int64_t limit);
// Returns the tier's tokens that count now, and with `usage` also the model's usage.
int64_t HammeredTokens(QuotaStore& store, ModelUsage* usage = nullptr);

struct HammerSum {
  int64_t requests = 0;  // charged requests
  int64_t tokens = 0;
  int64_t unavailable = 0;  // failures of the store, after which the child tried again
  int64_t failed = 0;       // children that ended with an error
};

// Makes each process take 1 to 7 tokens at a time, until no token is left.
HammerSum HammerTakes(const std::string& store, size_t processes, int64_t limit);
// Makes each process record 3 tokens `times` times, whatever the limit is.
HammerSum HammerRecords(const std::string& store, size_t processes, int64_t times);
// Makes each process reserve and commit, then reserve and refund, `times` times. Returns the counts that the store
// should have afterwards.
HammerSum HammerReservations(const std::string& store, size_t processes, int64_t times);
// Makes each process reserve 10 tokens for an hour, with a second tier whose window is shorter, and kills it then.
// Returns how many processes have reserved.
size_t HammerKilledHolders(const std::string& store, size_t processes);

// The sliding window of the test.
inline constexpr Duration kHammeredWindow = std::chrono::seconds(1);
struct HammerWindow {
  // The most tokens that were granted within less than a window, counting grants that were requested and answered in
  // it.
  int64_t most = 0;
  int64_t taken = 0;
  int64_t failed = 0;  // children that ended with an error
};
// Makes each process take 1 to 7 tokens at a time, for two and a half windows. Meanwhile one more process calls Prune
// and requests charges with new names, for which the store has no room.
HammerWindow HammerSlidingWindow(const std::string& store, size_t processes, int64_t limit);

inline constexpr const char* kHammerRole = "WEIR_QUOTA_HAMMER";
int RunHammerChild(const std::string& role);

}  // namespace weir
