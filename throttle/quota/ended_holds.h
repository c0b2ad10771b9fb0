// EndedHolds: how reservations of a model ended, for as long as callers may ask. Bounded in number and time
// (quota_store.h).
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

// How a reservation ended, in any store.
struct HoldEnd {
  enum class How : uint8_t { kExpired, kCommitted, kRefunded };
  How how = How::kExpired;
  bool late = false;
  int64_t tokens = 0;  // tokens that were used

  bool as_if_never() const { return how == How::kRefunded && tokens == 0; }

  static HoldEnd Of(const SettlementAnswer& answer) {
    return {answer.refunded ? How::kRefunded : How::kCommitted, answer.late, answer.actual_tokens};
  }
  // Writes the answer to a settlement of a reservation that ended so. Returns true if it had expired and this settles
  // it late.
  bool AnswerTo(const Settlement& settlement, SettlementAnswer* answer) const;
};

// Bounds how many ends all models keep together. When the room is full, a model with more than an equal share forgets
// first; otherwise a small one would lose what it has just recorded.
class EndsBound {
 public:
  explicit EndsBound(size_t most) : most_(most), bound_(most) {}

  void Take(bool is_first_of_model) {
    bound_.TakeAnyway(1);
    if (is_first_of_model) keepers_.fetch_add(1, std::memory_order_relaxed);
  }
  void GiveBack(size_t count, bool is_last_of_model) {
    bound_.GiveBack(count);
    if (is_last_of_model) keepers_.fetch_sub(1, std::memory_order_relaxed);
  }
  // Returns true if a model that keeps so many has to forget one of them.
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
    Hold hold;  // if it expired: with its parts, whose meters are pinned
    WallTime kept_until;
  };

  // `most` is the bound of this model. `bound` is shared by all models, and outlives it.
  EndedHolds(size_t most, EndsBound& bound) : most_(most), bound_(bound) {}
  ~EndedHolds() {
    if (!empty()) bound_.GiveBack(ended_.size(), true);
  }
  EndedHolds(const EndedHolds&) = delete;
  EndedHolds& operator=(const EndedHolds&) = delete;

  // Replaces what was recorded for this token before.
  void Add(const ReservationToken& token, Ended ended);
  // Returns null if nothing is known of it.
  Ended* Find(const ReservationToken& token, WallTime now);
  // Takes out the next one to forget: its time is over or, if there are too many of this model or by EndsBound, it is
  // the one whose time is over first. Returns nothing if all others are kept.
  std::optional<Ended> TakeForgotten(WallTime now);
  bool empty() const { return ended_.empty(); }
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
  std::vector<Due> due_;  // a heap, the next first; may also have entries that were replaced
};

}  // namespace weir
