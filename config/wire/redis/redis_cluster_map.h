// Parses the replies in which a node of a Redis Cluster says which node has which slots (redis_slot.h).
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "config/wire/redis/redis_url.h"

namespace weir {

// The slots from `first` to `last`, both included, and the node that has them.
struct RedisSlotRange {
  uint16_t first = 0;
  uint16_t last = 0;  // at least `first`, below kRedisSlots
  RedisAddress master;
  bool operator==(const RedisSlotRange&) const = default;
};

// Parses the reply of the node `asked` to CLUSTER SLOTS. A node that does not know its own host leaves it out; then the
// host of `asked` is used. Ignores ranges whose master has no address. Returns an error if the reply is an error, has
// another form, or has no range with an address.
Result<std::vector<RedisSlotRange>> ParseClusterSlots(const redisReply& reply, const RedisAddress& asked);

// The error by which a node names another node for a call: "MOVED 3999 127.0.0.1:6381" or "ASK 3999 :6381".
struct RedisRedirection {
  bool ask = false;  // true for ASK, which applies only to this call and needs the command ASKING before it
  uint16_t slot = 0;
  RedisAddress to;
  bool operator==(const RedisRedirection&) const = default;
};
// Parses an error of the node `asked`; uses the host of `asked` if the error names no host. Returns nullopt if the
// error is neither MOVED nor ASK, or has no valid slot or address.
std::optional<RedisRedirection> ParseRedirection(std::string_view error, const RedisAddress& asked);

}  // namespace weir
