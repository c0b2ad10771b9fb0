// OpenHolds: the open reservations of a model, by token and by deadline.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/bound.h"
#include "throttle/quota/meter.h"
#include "throttle/quota/quota_store.h"
#include "throttle/quota/reservation_id.h"

namespace weir {

// The amounts that a reservation has charged, and where.
struct Hold {
  struct Part {
    Meter* meter = nullptr;  // pinned
    Limit::Unit unit{};
    WindowLog::Ref ref = 0;
    bool of_all_models = false;  // other models charge the meter too
  };

  WallTime deadline;
  Duration hold_for{};
  bool named = false;  // it may be asked for again (Charge::token)
  Amounts charged;
  Amounts used;  // reported so far: tokens and money; use beyond `charged` is charged too
  WindowLog::Ref request_ref = 0;
  WindowLog::Ref token_ref = 0;
  DayCount::Ref day = 0;
  std::vector<Part> tiers;

  WallTime made() const { return deadline - hold_for; }
};

class OpenHolds {
 public:
  using Item = std::pair<ReservationToken, Hold>;

  // `bound` is shared by all models, and outlives it.
  explicit OpenHolds(Bound& bound) : bound_(bound) {}
  ~OpenHolds() { bound_.GiveBack(holds_.size()); }
  OpenHolds(const OpenHolds&) = delete;
  OpenHolds& operator=(const OpenHolds&) = delete;

  // Threads that add at once may each exceed the bound by one.
  bool HasRoom() const { return holds_.size() < kMostOpenReservations && bound_.HasRoom(1); }

  void Add(const ReservationToken& token, Hold hold);
  // Returns null if there is none. A reservation whose deadline has come stays until it is taken.
  const Hold* Find(const ReservationToken& token) const;
  std::optional<Hold> Take(const ReservationToken& token);
  // Moves an open reservation to a later deadline.
  void Extend(const ReservationToken& token, WallTime deadline);
  // Records what an open reservation has used.
  void NoteUse(const ReservationToken& token, const Amounts& used) { holds_.at(token).used = used; }
  // Takes the reservation whose deadline came first, if it has come.
  std::optional<Item> TakeExpired(WallTime now) {
    if (due_.empty() || due_.front().deadline > now) return {};
    return PopDue(now);
  }
  // The next deadline, or an earlier time. Empty if none is open.
  std::optional<WallTime> NextDue() const {
    return holds_.empty() ? std::nullopt : std::optional(due_.front().deadline);
  }
  // Adapts to a clock that stepped back to `now`: no reservation was made later than that.
  void PullBack(WallTime now);
  size_t size() const { return holds_.size(); }
  void ForEach(const auto& see) const {
    for (const auto& [token, hold] : holds_) see(hold);
  }

 private:
  struct Due {
    WallTime deadline;
    ReservationToken token;
  };
  static bool Later(const Due& a, const Due& b) { return a.deadline > b.deadline; }

  void PushDue(const ReservationToken& token, WallTime deadline);
  std::optional<Item> PopDue(WallTime now);
  void Rebuild();

  Bound& bound_;
  std::unordered_map<ReservationToken, Hold, HashReservationToken> holds_;
  std::vector<Due> due_;  // a heap, the next first; may also have some that were taken or extended
};

}  // namespace weir
