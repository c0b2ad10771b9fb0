// OpenHolds: the open reservations of one model in a memory store, by token and by deadline. A reservation is open
// until it is settled or expires. In names, "hold" means reservation.
//
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/bound.h"
#include "throttle/limits/quota/due_heap.h"
#include "throttle/limits/quota/meter.h"
#include "throttle/limits/quota/quota_store.h"
#include "throttle/limits/quota/reservation_id.h"

namespace weir {

// A reservation: the amounts that it has charged, and the counters in which it has charged them.
struct Hold {
  struct Part {
    Meter* meter = nullptr;  // pinned (Meter::Pin)
    Limit::Unit unit{};
    WindowLog::Ref ref = 0;      // the entry of the reservation in the meter
    bool of_all_models = false;  // the meter counts all models together
  };

  WallTime deadline;
  Duration hold_for{};  // the reservation's time to live
  bool named = false;   // a caller may ask for this reservation again (Charge::token)
  uint32_t round = 0;   // ReservationId::round
  Amounts charged;
  Amounts used;                    // tokens and money reported before its end; use beyond `charged` is charged too
  WindowLog::Ref request_ref = 0;  // its entries in the model's own counters, and its day (DayCount)
  WindowLog::Ref token_ref = 0;
  DayCount::Ref day = 0;
  std::vector<Part> tiers;

  WallTime made() const { return deadline - hold_for; }
};

class OpenHolds {
 public:
  using Item = std::pair<ReservationToken, Hold>;

  // All models of a store share `bound`. It must outlive this object.
  explicit OpenHolds(Bound& bound) : bound_(bound) {}
  ~OpenHolds() { bound_.GiveBack(holds_.size()); }
  OpenHolds(const OpenHolds&) = delete;
  OpenHolds& operator=(const OpenHolds&) = delete;

  // Returns true if one more reservation may be made. Threads that add reservations for different models at the same
  // time may each exceed the shared bound by one.
  bool HasRoom() const { return holds_.size() < kMostOpenReservations && bound_.HasRoom(1); }

  // Adds a reservation even if there is no room. REQUIRES: no reservation has this token.
  void Add(const ReservationToken& token, Hold hold);
  // Returns the reservation, or null if there is none. Also finds one whose deadline has come, until a Take function
  // removes it.
  const Hold* Find(const ReservationToken& token) const;
  // Removes and returns the reservation. Returns nothing if there is none.
  std::optional<Hold> Take(const ReservationToken& token);
  // Moves the deadline of a reservation to a later time. REQUIRES: the reservation exists.
  void Extend(const ReservationToken& token, WallTime deadline);
  // Records the total use of a reservation so far. REQUIRES: the reservation exists.
  void NoteUse(const ReservationToken& token, const Amounts& used) { holds_.at(token).used = used; }
  // Removes and returns a reservation whose deadline has come, the earliest deadline first. Returns nothing if there is
  // none.
  std::optional<Item> TakeExpired(WallTime now) {
    if (due_.empty() || due_.front().time > now) return {};
    return PopDue(now);
  }
  // Returns the earliest deadline of all reservations, or an earlier time. Returns nothing if no reservation is open.
  std::optional<WallTime> NextDue() const { return holds_.empty() ? std::nullopt : std::optional(due_.front().time); }
  // Shortens deadlines so that no reservation seems to have been made later than `now`. The caller calls it when the
  // clock has stepped back to `now`.
  void PullBack(WallTime now);
  size_t size() const { return holds_.size(); }
  void ForEach(const auto& see) const {
    for (const auto& [token, hold] : holds_) see(hold);
  }

 private:
  void PushDue(const ReservationToken& token, WallTime deadline);
  std::optional<Item> PopDue(WallTime now);

  Bound& bound_;
  std::unordered_map<ReservationToken, Hold, HashReservationToken> holds_;
  DueHeap due_;  // the deadlines; entries of reservations that were removed or extended are stale
};

}  // namespace weir
