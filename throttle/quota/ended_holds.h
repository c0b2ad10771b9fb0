// EndedHolds: remembers how the reservations of one model in a memory store ended, so that a repeated settlement gets
// the right answer. The number of ends, and the time for which each is kept, are bounded (quota_store.h).
//
// Threads: one at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "config/bound.h"
#include "throttle/quota/open_holds.h"
#include "throttle/quota/quota_store.h"

namespace weir {

// How a reservation ended. Memory and SQLite stores use it; Redis does the same in Lua.
struct HoldEnd {
  enum class How : uint8_t { kExpired, kCommitted, kRefunded };
  How how = How::kExpired;
  bool late = false;   // it was settled after its deadline
  int64_t tokens = 0;  // tokens that were used

  // Returns true if the reservation was refunded before any use, and so counts as never made (Charge::token).
  bool as_if_never() const { return how == How::kRefunded && tokens == 0; }

  static HoldEnd Of(const SettlementAnswer& answer) {
    return {answer.refunded ? How::kRefunded : How::kCommitted, answer.late, answer.actual_tokens};
  }
  // Writes the answer to a settlement of a reservation that ended in this way: the fields code, late, refunded,
  // actual_tokens and again. Returns true if the reservation had expired and this settlement settles it late. The
  // caller must then charge what was used, and record the new end.
  bool AnswerTo(const Settlement& settlement, SettlementAnswer* answer) const;
};

// EndsBound: bounds how many ends all models of a store remember together. If there are too many, a model that keeps
// more than an equal share forgets one of its ends. Without this rule a model with few ends would lose the end that it
// has just recorded.
//
// Threads: any.
class EndsBound {
 public:
  explicit EndsBound(size_t most) : most_(most), bound_(most) {}

  // Notes one more end. `is_first_of_model`: the model had none before.
  void Take(bool is_first_of_model) {
    bound_.TakeAnyway(1);
    if (is_first_of_model) keepers_.fetch_add(1, std::memory_order_relaxed);
  }
  // Notes that a model has forgotten `count` ends. `is_last_of_model`: it has none left.
  void GiveBack(size_t count, bool is_last_of_model) {
    bound_.GiveBack(count);
    if (is_last_of_model) keepers_.fetch_sub(1, std::memory_order_relaxed);
  }
  // Returns true if there are too many ends and a model that keeps `kept` of them must forget one.
  bool IsTooMany(size_t kept) const {
    return kept > 1 && !bound_.HasRoom(0) && kept > most_ / keepers_.load(std::memory_order_relaxed);
  }

 private:
  const size_t most_;
  Bound bound_;
  std::atomic<size_t> keepers_{0};  // models that keep at least one
};

class EndedHolds {
 public:
  struct Ended {
    HoldEnd end;
    Hold hold;            // if it expired: with its parts, whose meters are pinned; otherwise without parts
    WallTime kept_until;  // from then on it may be forgotten
  };

  // `most` is the most ends that this model may keep. `bound` is shared by all models, and must outlive this object.
  EndedHolds(size_t most, EndsBound& bound) : most_(most), bound_(bound) {}
  ~EndedHolds() {
    if (!empty()) bound_.GiveBack(ended_.size(), true);
  }
  EndedHolds(const EndedHolds&) = delete;
  EndedHolds& operator=(const EndedHolds&) = delete;

  // Records an end, and replaces the one that was recorded for this token before. Call TakeForgotten afterwards,
  // because Add enforces no bound.
  void Add(const ReservationToken& token, Ended ended);
  // Returns null if no end is known for this token, or if its time is over at `now`. The pointer is valid until the
  // next Add or TakeForgotten.
  Ended* Find(const ReservationToken& token, WallTime now);
  // Removes and returns an end that must be forgotten, so that the caller can unpin its meters: one whose time is over
  // or, if there are too many of this model or of all models, the one whose time is over first. Call it until it
  // returns nothing, which says that all other ends can be kept.
  std::optional<Ended> TakeForgotten(WallTime now);
  bool empty() const { return ended_.empty(); }
  // Calls `see` with the Hold of each end.
  void ForEach(const auto& see) const {
    for (const auto& [token, ended] : ended_) see(ended.hold);
  }

 private:
  struct Due {
    WallTime kept_until;
    ReservationToken token;
  };
  static bool Later(const Due& a, const Due& b) { return a.kept_until > b.kept_until; }

  const size_t most_;
  EndsBound& bound_;
  std::unordered_map<ReservationToken, Ended, HashReservationToken> ended_;
  // A heap; the end whose time is over first is at the front. It may also have entries of ends that were replaced.
  std::vector<Due> due_;
};

}  // namespace weir
