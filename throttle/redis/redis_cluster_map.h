// Parses what the nodes of a cluster say about the places of keys.
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "throttle/redis/redis_url.h"

namespace weir {

struct RedisSlotRange {
  uint16_t first = 0;
  uint16_t last = 0;  // >= first, < kRedisSlots
  RedisAddress master;
  bool operator==(const RedisSlotRange&) const = default;
};

// Parses the reply to CLUSTER SLOTS. A node that does not know its own host leaves it out: it is then that of `asked`.
// Ranges whose master has no address are left out.
Result<std::vector<RedisSlotRange>> ParseClusterSlots(const redisReply& reply, const RedisAddress& asked);

// "MOVED 3999 127.0.0.1:6381", "ASK 3999 :6381": ask there instead.
struct RedisRedirection {
  bool ask = false;  // only for this call, with ASKING before it
  uint16_t slot = 0;
  RedisAddress to;
  bool operator==(const RedisRedirection&) const = default;
};
// Returns nothing if the error is another.
std::optional<RedisRedirection> ParseRedirection(std::string_view error, const RedisAddress& asked);

}  // namespace weir
