// SyncCounts: counts what a sync with another relay has done so far.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace weir {

enum class SyncDirection : uint8_t { kBoth, kUp, kDown };

struct SyncCounts {
  uint64_t stored = 0;   // own events that match the filter
  uint64_t need = 0;     // events that only the other relay has
  uint64_t have = 0;     // events that only this relay has
  uint64_t rounds = 0;   // messages that the relay has answered, of the comparison alone
  std::string by_pages;  // why the sets were compared by reading all events (page_walk.h); empty: by NIP-77
  uint64_t received = 0;
  uint64_t missing = 0;                     // events that the relay announced and did not give
  uint64_t accepted = 0;                    // events that the relay has taken
  uint64_t gone = 0;                        // events that were deleted here before they could be sent
  std::map<std::string, uint64_t> refused;  // events that the relay refused, by its reason
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
};

}  // namespace weir
