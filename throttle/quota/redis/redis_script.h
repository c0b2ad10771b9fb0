// The Lua scripts that decide and settle inside a Redis server, each in one step, and the layout of what they store.
// "Tier", "named" and other terms are those of quota_store.h.
//
// Keys of a model, all in the slot of {model} (redis_slot.h):
//
//   <prefix>:{model}:q      the stated quota: max_rpm, max_tpm, max_rpd; the only key that does not expire
//   <prefix>:{model}:m      the model's log of requests and tokens, its day, and figures about its open reservations
//   <prefix>:{model}:r      a hash of the open reservations: token -> what it charged (MessagePack)
//   <prefix>:{model}:d      a sorted set of their deadlines
//   <prefix>:{model}:e      a hash of the ended reservations: token -> how it ended, and what it charged (MessagePack)
//   <prefix>:{model}:k      a sorted set of the times until which ends are kept, below 0 for named ones (Charge::token)
//   <prefix>:{model}:t:KEY:METER   the counter of one limit of a tier (TierCharge::key, MeterName)
//   <prefix>:{}:t:KEY:METER        the same for all models together; in another slot, so a cluster has none
//
// Keys that exist once; in a cluster once for each slot, with a tag of the slot, because a script sees no other slot:
//
//   <prefix>:names    a hash of the number of tier counters: a time -> how many counters are kept until then
//   <prefix>:models   a sorted set. It has the names of the models' :m keys, scored by the time until which each is
//                     kept, by +inf if a quota was stated, or by kRedisStatedByConfiguration if a configuration stated
//                     it. It also has names of :t, scored below 0: minus the time until which the last counter of a
//                     tier is kept
//   <prefix>:due      a sorted set of the :m keys of models that have reservations in counters for all models, by the
//                     deadline of the first of these reservations, or an earlier time; not in a cluster
//
// Not every decision writes these keys: only one that begins a name, or that makes a key live longer.
//
// Times are microseconds since 1970. Like all numbers in the values, in the arguments and in the replies, they are
// doubles of 8 bytes, little-endian. Doubles are exact up to 2^53, which is more than nine times kMostAmount.
//
// A log is a string: a header, and a ring of kRedisRing entries (last, requests, tokens). Entries have consecutive
// numbers, which are never used again: a new log begins its numbers with the microseconds of the server's clock. A
// reservation remembers the number of its entry. A decision reads the headers, and writes the headers and one entry in
// place, so its cost does not depend on how many entries the window has.
//
// A key expires when nothing in it counts any longer and no open reservation may still need it. :m has an epoch, which
// is the time at which it was made. Each counter of a tier has the epoch that :m had at its first charge. If the two
// epochs differ, the counter is void. So a reset need not find the counters; :m is kept as long as each of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

// Entries that a window keeps exactly; the granule is the window divided by this number.
inline constexpr size_t kRedisExactEntries = 60;
inline constexpr size_t kRedisRing = 128;         // must be more than kRedisExactEntries + window / granule
inline constexpr size_t kRedisEntryBytes = 24;    // last, requests, tokens
inline constexpr size_t kRedisModelHeader = 160;  // bytes
// Positions of the numbers in the model's header.
enum class RedisModelField : size_t {
  kHead,            // number of the oldest entry that counts
  kTail,            // number of the next entry
  kFirst,           // time of the first amount in the newest entry
  kLast,            // time of the last amount in the newest entry
  kRequests,        // sum of the requests that count
  kTokens,          // sum of the tokens that count
  kKeptUntil,       // when the key expires
  kDayStart,        // 0: no day has begun
  kDayCount,        // requests of the day
  kDayNumber,       // number of the day; only grows
  kOpen,            // number of open reservations
  kEarliest,        // the first of their deadlines, or an earlier time; 0: none
  kHoldsKeptUntil,  // when :r and :d expire
  kSeen,            // when the header was written last
  kOldest,          // time of the oldest entry
  kNewestRequests,  // requests of the newest entry
  kNewestTokens,    // tokens of the newest entry
  kEpoch,           // when the key was made
  kLongest,         // longest time to live of an open reservation
  // The time to which the clock stepped back, while some reservations still seem to be made later; 0: none.
  kPullTo,
};

// The score in <prefix>:models of a model whose quota a configuration stated. It is larger than all times.
inline constexpr double kRedisStatedByConfiguration = 1e17;

// The whole scripts: decide and charge, settle a reservation, release a take, and reset or restore a model.
std::string_view RedisChargeScript();
std::string_view RedisSettleScript();
std::string_view RedisGiveBackScript();
std::string_view RedisResetScript();

}  // namespace weir
