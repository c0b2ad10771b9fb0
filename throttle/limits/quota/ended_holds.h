// EndedHolds: remembers how the reservations of one model in a memory store ended, so that a repeated settlement gets
// the right answer. In names, "hold" means reservation. An "end" is the record of how a reservation ended.
// quota_store.h says how many ends a store keeps, and for how long.
//
// Not thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "config/bound.h"
#include "throttle/limits/quota/due_heap.h"
#include "throttle/limits/quota/open_holds.h"
#include "throttle/limits/quota/quota_store.h"

namespace weir {

// How a reservation ended. The memory and SQLite stores use this type; the Redis store does the same in Lua.
struct HoldEnd {
  enum class How : uint8_t { kExpired, kCommitted, kRefunded };
  How how = How::kExpired;
  bool late = false;   // it was settled after its deadline
  int64_t tokens = 0;  // the tokens that it used

  // Returns true if the reservation was refunded before it used any token. Then it counts as never made
  // (Charge::token).
  bool as_if_never() const { return how == How::kRefunded && tokens == 0; }

  // Returns how a reservation ended that made way for one of a later round (ReservationId).
  static HoldEnd OfEarlierRound() { return {.how = How::kRefunded}; }
  static HoldEnd Of(const SettlementAnswer& answer) {
    return {answer.refunded ? How::kRefunded : How::kCommitted, answer.late, answer.actual_tokens};
  }
  // Fills the fields code, late, refunded, actual_tokens and again of `answer` for a settlement of a reservation that
  // ended in this way. Returns true if the reservation had expired and this settlement settles it late. The caller must
  // then charge what was used, if the settlement is a commit, and replace this end by the new one.
  bool AnswerTo(const Settlement& settlement, SettlementAnswer* answer) const;
};

// EndsBound: bounds the number of ends that all models of a store remember together. If there are too many, a model
// that keeps more than an equal share of them forgets one of its ends. Without this rule, a model with few ends would
// have to forget the end that it has just recorded.
//
// Thread-safe.
class EndsBound {
 public:
  explicit EndsBound(size_t most) : most_(most), bound_(most) {}

  // Counts one more end. `is_first_of_model` is true if the model of this end had no ends before.
  void Take(bool is_first_of_model) {
    bound_.TakeAnyway(1);
    if (is_first_of_model) keepers_.fetch_add(1, std::memory_order_relaxed);
  }
  // Subtracts `count` ends that a model has forgotten. `is_last_of_model` is true if the model has no ends left.
  void GiveBack(size_t count, bool is_last_of_model) {
    bound_.GiveBack(count);
    if (is_last_of_model) keepers_.fetch_sub(1, std::memory_order_relaxed);
  }
  // Returns true if there are too many ends and a model that keeps `kept` ends must forget one of its own.
  bool IsTooMany(size_t kept) const {
    return kept > 1 && !bound_.HasRoom(0) && kept > most_ / keepers_.load(std::memory_order_relaxed);
  }

 private:
  const size_t most_;
  Bound bound_;
  std::atomic<size_t> keepers_{0};  // the number of models that keep at least one end
};

class EndedHolds {
 public:
  struct Ended {
    HoldEnd end;
    Hold hold;            // has `tiers` only if it expired; their meters are then pinned (Meter::Pin)
    WallTime kept_until;  // the time from which the end may be forgotten
  };

  // `most` is the largest number of ends that this model may keep. All models of a store share `bound`. It must outlive
  // this object.
  EndedHolds(size_t most, EndsBound& bound) : most_(most), bound_(bound) {}
  ~EndedHolds() {
    if (!empty()) bound_.GiveBack(ended_.size(), true);
  }
  EndedHolds(const EndedHolds&) = delete;
  EndedHolds& operator=(const EndedHolds&) = delete;

  // Records an end, and replaces an end that was recorded for this token before. Does not enforce the bounds, so the
  // caller must call TakeForgotten afterwards.
  void Add(const ReservationToken& token, Ended ended);
  // Returns the end of the reservation with this token, or null if no end is recorded or if it may be forgotten at
  // `now`. The pointer is valid until the next Add or TakeForgotten.
  Ended* Find(const ReservationToken& token, WallTime now);
  // Removes and returns an end that must be forgotten, so that the caller can unpin its meters. This is an end that may
  // be forgotten at `now`; or, if this model or all models together have too many ends, it is the end of this model
  // with the earliest `kept_until`. Returns nothing if no end must be forgotten. The caller must repeat the call until
  // it returns nothing.
  std::optional<Ended> TakeForgotten(WallTime now);
  bool empty() const { return ended_.empty(); }
  // Returns the number of entries of the heap: at most 64 more than twice the ends.
  size_t due_entries() const { return due_.size(); }
  // Calls `see` with the Hold of each end.
  void ForEach(const auto& see) const {
    for (const auto& [token, ended] : ended_) see(ended.hold);
  }

 private:
  const size_t most_;
  EndsBound& bound_;
  std::unordered_map<ReservationToken, Ended, HashReservationToken> ended_;
  DueHeap due_;  // the times until which ends are kept; entries of ends that were replaced are stale
};

}  // namespace weir
