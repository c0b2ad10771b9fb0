// OpenHolds: the open reservations of a model, by token and by deadline.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <vector>

#include "throttle/quota/meter.h"
#include "throttle/quota/reservation_id.h"

namespace weir {

// What a reservation has charged, and where.
struct Hold {
  struct Part {
    Meter* meter = nullptr;  // pinned
    Limit::Unit unit{};
    WindowLog::Ref ref = 0;
  };

  WallTime deadline;
  Duration hold_for{};
  int64_t requests = 0;
  int64_t tokens = 0;
  WindowLog::Ref request_ref = 0;
  WindowLog::Ref token_ref = 0;
  DayCount::Ref day = 0;
  std::vector<Part> tiers;
};

class OpenHolds {
 public:
  void Add(const ReservationToken& token, Hold hold);
  // Nothing also where its deadline has come.
  std::optional<Hold> TakeOpen(const ReservationToken& token, WallTime now);
  // The one whose deadline came first, if it has come.
  std::optional<Hold> TakeExpired(WallTime now) {
    if (due_.empty() || due_.front().deadline > now) return {};
    return PopDue(now);
  }
  // The clock has stepped back to `now`: none was made later than that.
  void PullBack(WallTime now);
  size_t size() const { return holds_.size(); }

 private:
  struct Due {
    WallTime deadline;
    ReservationToken token;
  };
  struct HashToken {
    size_t operator()(const ReservationToken& token) const { return token[0]; }
  };
  static bool Later(const Due& a, const Due& b) { return a.deadline > b.deadline; }

  std::optional<Hold> Take(const ReservationToken& token);
  std::optional<Hold> PopDue(WallTime now);
  void Rebuild();

  std::unordered_map<ReservationToken, Hold, HashToken> holds_;
  std::vector<Due> due_;  // a heap, the next first; also some that were taken
};

}  // namespace weir
