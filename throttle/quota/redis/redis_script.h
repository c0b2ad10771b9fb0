// The Lua scripts that decide and settle inside the server, each in one step; and the layout of what they store.
//
// Keys, all in the slot of {model}:
//
//   <prefix>:{model}:q      the stated quota: max_rpm, max_tpm, max_rpd; the only key that does not expire
//   <prefix>:{model}:m      the model's log of requests and tokens, the day, the open reservations in numbers
//   <prefix>:{model}:r      a hash of the open reservations: token -> what it charged (MessagePack)
//   <prefix>:{model}:d      a sorted set of their deadlines
//   <prefix>:{model}:e      a hash of the ended reservations: token -> how, and what it charged (MessagePack)
//   <prefix>:{model}:k      a sorted set of the times until which ends are kept, below 0 for named ones (Charge::token)
//   <prefix>:{model}:t:KEY:METER   the count of one limit of a tier
//   <prefix>:{}:t:KEY:METER        the same for all models together: in another slot, and so not on a cluster
//
// and, once (in a cluster once for each slot, under a tag of it, because a script sees no other slot):
//
//   <prefix>:names    how many counts of tiers there are: a hash of how many are kept until which time
//   <prefix>:models   a sorted set of the models' :m, with the time until which they are kept, +inf if a quota was
//                     stated, or kRedisStatedByConfiguration; and of their :t, with a score below 0: the time until
//                     which the last count of a tier is kept
//   <prefix>:due      a sorted set of the models' :m that have reservations in counts for all models, with the deadline
//                     of the first of them, or an earlier time; not in a cluster
//
// They are written when a name begins, or when its key is to live longer: not by each decision.
//
// Times are microseconds since 1970 and, like all numbers in the values, in the arguments and in the answers, doubles
// of 8 bytes, little-endian: exact up to 2^53, which is more than nine times kMostAmount.
//
// A log is a string: a header and a ring of kRedisRing entries (last, requests, tokens), which are numbered for ever: a
// log that begins anew goes on from the microseconds of the server's clock. A reservation remembers the number. A
// decision reads the headers, and writes them and an entry in place: its cost does not depend on how much there is in
// the window.
//
// Keys expire when nothing in them counts any more and no open reservation may come back to them. :m has an epoch, the
// time at which it was made, and the counts of tiers carry the epoch of their first charge: if the two differ, the
// counts are void. So a reset need not find them; and :m is kept as long as each of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

inline constexpr size_t kRedisExactEntries = 60;
inline constexpr size_t kRedisRing = 128;         // above kRedisExactEntries + window / granule
inline constexpr size_t kRedisEntryBytes = 24;    // last, requests, tokens
inline constexpr size_t kRedisModelHeader = 160;  // bytes
// Places in the model's header.
enum class RedisModelField : size_t {
  kHead,      // number of the oldest entry that counts
  kTail,      // behind the newest
  kFirst,     // time of the newest entry's first part
  kLast,      // time of its last part
  kRequests,  // sums
  kTokens,
  kKeptUntil,  // when the key expires
  kDayStart,
  kDayCount,
  kDayNumber,  // only grows
  kOpen,
  kEarliest,        // first deadline, or an earlier time; 0: none
  kHoldsKeptUntil,  // when :r and :d expire
  kSeen,            // when it was written last
  kOldest,          // time of the oldest entry
  kNewestRequests,  // requests of the newest entry
  kNewestTokens,
  kEpoch,
  kLongest,  // longest time to live of the open reservations
  kPullTo,   // the clock stepped back to this, and reservations that are later are still to be pulled back; 0: none
};

// A score in <prefix>:models, beyond all times: a configuration stated the quota.
inline constexpr double kRedisStatedByConfiguration = 1e17;

// Whole scripts.
std::string_view RedisChargeScript();
std::string_view RedisSettleScript();
std::string_view RedisGiveBackScript();
std::string_view RedisResetScript();

}  // namespace weir
