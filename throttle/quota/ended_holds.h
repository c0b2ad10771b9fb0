// EndedHolds: how reservations of a model ended, for as long as somebody may ask. Bounded in number and time
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
  int64_t tokens = 0;  // that were used

  bool as_if_never() const { return how == How::kRefunded && tokens == 0; }

  static HoldEnd Of(const SettlementAnswer& answer) {
    return {answer.refunded ? How::kRefunded : How::kCommitted, answer.late, answer.actual_tokens};
  }
  // What is answered to who settles it (again). True: it expired, and is settled late by that.
  bool AnswerTo(const Settlement& settlement, SettlementAnswer* answer) const;
};

// How many ends the models keep together. When the room is full, a model with more than an equal share forgets first;
// otherwise a small one would lose what it has just learnt.
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
  // Whether a model that keeps so many is to forget one of them.
  bool IsTooMany(size_t kept) const {
    return kept > 1 && !bound_.HasRoom(0) && kept > most_ / keepers_.load(std::memory_order_relaxed);
  }

 private:
  const size_t most_;
  Bound bound_;
  std::atomic<size_t> keepers_{0};  // models that keep any
};

class EndedHolds {
 public:
  struct Ended {
    HoldEnd end;
    Hold hold;  // of one that expired with its parts, whose meters are pinned
    WallTime kept_until;
  };

  // `most`: of this model. The bound is of those of all models, and outlives it.
  EndedHolds(size_t most, EndsBound& bound) : most_(most), bound_(bound) {}
  ~EndedHolds() {
    if (!empty()) bound_.GiveBack(ended_.size(), true);
  }
  EndedHolds(const EndedHolds&) = delete;
  EndedHolds& operator=(const EndedHolds&) = delete;

  // In the place of what was said of it before.
  void Add(const ReservationToken& token, Ended ended);
  // Null: nothing is known of it.
  Ended* Find(const ReservationToken& token, WallTime now);
  // The next that is to be forgotten: its time is over, or it is the oldest of too many, of this model or by EndsBound.
  // Nothing: all others are kept.
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
  std::vector<Due> due_;  // a heap, the next first; also what was replaced
};

}  // namespace weir
