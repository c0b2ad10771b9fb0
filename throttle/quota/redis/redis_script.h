// The Lua scripts that decide and settle, inside the server, each in one step; and the layout of what they keep.
//
// Keys, all in the slot of {model}:
//
//   <prefix>:{model}:q      what was stated: max_rpm, max_tpm, max_rpd; the only one that does not expire
//   <prefix>:{model}:m      the model's log of requests and tokens, the day, the open reservations in numbers
//   <prefix>:{model}:r      a hash of the open reservations: token -> what it charged (MessagePack)
//   <prefix>:{model}:d      a sorted set of their deadlines
//   <prefix>:{model}:e      a hash of those that ended: token -> how, and what it charged (MessagePack)
//   <prefix>:{model}:k      a sorted set of the times until which that is kept, below 0 of named ones (Charge::token)
//   <prefix>:{model}:t:KEY:METER   the count of one limit of a tier
//   <prefix>:{}:t:KEY:METER        of all models together: in another slot, and so not on a cluster
//
// and, once (in a cluster for each slot, under a tag of it, for a script sees no other):
//
//   <prefix>:names    how many counts of tiers there are: a hash of how many are kept until when
//   <prefix>:models   a sorted set of the models' :m, with the time until which they are kept, +inf where a quota was
//                     stated, or kRedisStatedByConfiguration; and of their :t, with less than 0: until when the last
//                     count of a tier is kept
//   <prefix>:due      a sorted set of the models' :m that have reservations in counts for all models, with the deadline
//                     of the first of them, or an earlier time; not in a cluster
//
// They are written where a name begins, or its key is to live longer: not by each decision.
//
// Times are microseconds since 1970 and, like all numbers in the values, in the arguments and in the answers, doubles
// of 8 bytes, little-endian: exact up to 2^53, which is more than nine times kMostAmount.
//
// A log is a string: a header and a ring of kRedisRing entries (last, requests, tokens), which are numbered for ever:
// a log that begins anew goes on from the microseconds of the server's clock. A reservation remembers the number. A
// decision reads the headers, and writes them and an entry in their place: what it costs does not depend on how much
// there is in the window.
//
// Keys expire when nothing in them counts any more and no open reservation may come back to them. :m has an epoch, the
// time of its making, and the counts of tiers carry that of their first charge: with another they are void. So a reset
// needs not find them; and :m is kept as long as each of them.
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
  kFirst,     // the first part of the newest
  kLast,      // its last part
  kRequests,  // sums
  kTokens,
  kKeptUntil,  // the key expires
  kDayStart,
  kDayCount,
  kDayNumber,  // only grows
  kOpen,
  kEarliest,        // deadline, or earlier; 0: none
  kHoldsKeptUntil,  // :r and :d expire
  kSeen,            // when it was written last
  kOldest,          // time of the oldest entry
  kNewestRequests,  // of the newest entry
  kNewestTokens,
  kEpoch,
  kLongest,  // time to live of the open reservations
  kPullTo,   // the clock stepped back to this, and reservations of later are still to be looked for; 0: none
};

// A score in <prefix>:models, beyond all times: the quota was stated by a configuration.
inline constexpr double kRedisStatedByConfiguration = 1e17;

// Whole scripts.
std::string_view RedisChargeScript();
std::string_view RedisSettleScript();
std::string_view RedisGiveBackScript();
std::string_view RedisResetScript();

}  // namespace weir
