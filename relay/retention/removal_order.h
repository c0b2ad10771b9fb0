// RemovalOrder: what an administrator asks a relay to remove (removal_jobs.h), and its form as JSON:
//
//   {"filters":[{"kinds":[7]}],"older_than_s":2592000,"dry_run":true}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "relay/nostr/filter.h"

namespace weir {

struct RemovalOrder {
  std::vector<Filter> filters;
  uint64_t older_than_seconds = 0;  // the least time since created_at; 0: any
  bool dry_run = false;             // count the events that match, and remove none
  bool all = false;                 // a filter that matches every event is meant
  // The number of events that match, if they were counted before. Otherwise they are counted first.
  std::optional<uint64_t> counted;

  // Returns an error if there are no filters, or if one matches every event, at least those of the age, and `all` is
  // not set.
  Status Check() const;
  // Returns the filters for a removal that begins at this time.
  std::vector<Filter> FiltersAt(uint64_t now_seconds) const;
};

// Reads an order, and checks it. The error says which field is wrong.
Result<RemovalOrder> ReadRemovalOrder(std::string_view json);
std::string ToJson(const RemovalOrder& order);

}  // namespace weir
