// The Lua scripts that decide charges and settle reservations inside a Redis server, each in one atomic step, and the
// layout of the data that they store. quota_store.h explains the terms, such as "tier" and "named reservation".
//
// Keys of a model. All but the last are in the slot of {model} (redis_slot.h):
//
//   <prefix>:{model}:q      the stated quota: max_rpm, max_tpm, max_rpd; the only key that does not expire
//   <prefix>:{model}:m      the model's log of requests and tokens, its day, and figures about its open reservations
//   <prefix>:{model}:r      a hash of the open reservations: token -> what it charged (MessagePack)
//   <prefix>:{model}:d      a sorted set of their deadlines
//   <prefix>:{model}:e      a hash of the ended reservations: token -> how it ended, and what it charged (MessagePack)
//   <prefix>:{model}:k      a sorted set: when each end may be forgotten; negative for named ones (Charge::token)
//   <prefix>:{model}:t:KEY:METER   the counter of one limit of a tier (TierCharge::key, MeterName)
//   <prefix>:{}:t:KEY:METER        the same, for all models together. A cluster has none, because its slot is another
//
// Keys that exist once. In a cluster they exist once for each slot, with a hash tag of the slot in the name, because a
// script can use only one slot:
//
//   <prefix>:names    a hash, for the number of tier counters: a time -> how many counters are kept until that time;
//                     "all" -> their number; "next" -> the earliest of these times
//   <prefix>:models   a sorted set with two kinds of names. The name of a model's :m key is scored by the time until
//                     which the key is kept, +inf if a quota was stated, or kRedisStatedByConfiguration if a
//                     configuration stated it. The name <prefix>:{model}:t, for all tier counters of the model, and the
//                     name of each counter for all models have a negative score: minus the time until which the
//                     counter, or the last of the counters, is kept
//   <prefix>:due      a sorted set of the :m keys of models that have reservations in counters for all models. The
//                     score is the earliest deadline of these reservations, or an earlier time. Not in a cluster
//
// A decision writes the first two of these keys only if it adds a name, finds that names are gone, or makes a key live
// longer. It writes :due only if it reserves in a counter for all models, or finds that reservations there are due.
//
// Times are in microseconds since 1970. The numbers in strings (:q, :m and :t), in arguments and in the replies of
// decisions and settlements, also times, are doubles of 8 bytes, little-endian. Doubles are exact up to 2^53, which is
// more than nine times kMostAmount.
//
// A log is a string: a header, and a ring of kRedisRing entries (last, requests, tokens). Entries have consecutive
// numbers, which are never used again, because a new log starts with the microseconds of the server's clock as its
// first number. A reservation remembers the number of its entry. A decision reads the headers, and then writes the
// headers and one entry in place, so its cost does not depend on how many entries the window has.
//
// A key expires some time after it has stopped counting, if no open reservation may still need it. The :m key has an
// epoch, which is the time at which the key was made. Each tier counter stores the epoch that :m had when the counter
// was first charged. If the two epochs differ, the scripts treat the counter as empty. So a reset only has to delete
// :m, and need not find the tier counters. This requires that :m is kept as long as each of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

// The number of entries that a window keeps exactly; the granule is the length of the window divided by this number.
inline constexpr size_t kRedisExactEntries = 60;
inline constexpr size_t kRedisRing = 128;         // must be more than kRedisExactEntries + window / granule
inline constexpr size_t kRedisEntryBytes = 24;    // for the numbers last, requests, tokens
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
  kEarliest,        // the earliest of their deadlines, or an earlier time; 0: none
  kHoldsKeptUntil,  // when :r and :d expire
  kSeen,            // when the header was last written
  kOldest,          // time of the oldest entry
  kNewestRequests,  // requests of the newest entry
  kNewestTokens,    // tokens of the newest entry
  kEpoch,           // when the key was made
  kLongest,         // the longest time to live of an open reservation
  // The time to which the clock has stepped back, while some reservations still seem to have been made later; 0: none.
  kPullTo,
};

// The score in <prefix>:models of a model whose quota a configuration has stated. It is larger than all times.
inline constexpr double kRedisStatedByConfiguration = 1e17;

// Return the complete scripts: decide and charge; settle a reservation; release a take; reset or restore a model, or
// change its quota.
std::string_view RedisChargeScript();
std::string_view RedisSettleScript();
std::string_view RedisGiveBackScript();
std::string_view RedisResetScript();

}  // namespace weir
