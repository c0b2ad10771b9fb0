// PacedRemovals: removes events in pieces between the writes of others, no faster than the engine keeps up with. After
// each piece it asks the write gate for that work, as bulk work, and the next piece waits as long as the admission.
//
// There are pieces of large deletions, which the owner saves and charges here, and pieces that the store owes: events
// of authors who asked to vanish, and expired events. These two take turns and are looked for once a minute, when the
// store's own upkeep is due, too. Events have expired when a clock says so that is believed.
//
// Used on the commit thread, except AddTo.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "config/clock.h"
#include "relay/store/believed_clock.h"
#include "relay/store/event_store.h"
#include "throttle/admission.h"

namespace weir {

struct GroupCommitStats;

class PacedRemovals {
 public:
  // Expired events are neither served nor saved, so it does not matter how long they still take up room. Removals that
  // failed are tried again as often.
  static constexpr uint64_t kLookEverySeconds = 60;

  // Asks the write gate. If empty, removals are not held up.
  using Admit = std::function<Admission(Cost cost)>;

  PacedRemovals(EventStore& store, const WallClock& clock, const Clock& steady, Admit admit)
      : store_(store),
        clock_(clock),
        believed_(clock, steady),
        admit_(std::move(admit)),
        last_look_(clock.NowSeconds()) {}

  // Returns true if the next piece may go. Must not be called under a lock: the gate may wake others, who submit.
  bool MayGoOn();
  // Charges a piece of a deletion.
  void Charge(Work work) { unpaid_ += work; }
  // Withdraws from the gate.
  void Stop() { admission_.reset(); }

  bool owes() const { return vanished_.more || expired_.more; }
  void OweVanishing() { vanished_.more = true; }
  // Removes a piece of what is owed if it may. GoOnVanishing removes only what is to vanish.
  void GoOn();
  void GoOnVanishing();

  void AddTo(GroupCommitStats* stats) const;

 private:
  // Work of one piece of what is owed: others wait no longer for it than for a small write.
  static constexpr Work kPieceWork = 2 * kTurnWork;

  struct Owed {
    const char* what;
    std::function<Result<OwedPiece>()> remove_piece;
    bool more = true;  // a process before this one may have left something
    bool failed = false;
    std::atomic<uint64_t> removed{0};
  };
  void Look();
  void Remove(Owed* owed);

  EventStore& store_;
  const WallClock& clock_;
  BelievedClock believed_;
  const Admit admit_;
  std::optional<Admission> admission_;
  Work unpaid_ = 0;  // work of removals for which the gate was not asked yet
  uint64_t last_look_;
  Owed vanished_{"what is to vanish", [this] { return store_.RemoveVanished(kPieceWork); }};
  Owed expired_{"what expired", [this] { return store_.RemoveExpired(believed_.NowSeconds(), kPieceWork); }};
  bool expired_is_next_ = false;
  bool upkeep_failed_ = false;
  std::atomic<uint64_t> sweeps_{0};
  std::atomic<uint64_t> failed_sweeps_{0};
};

}  // namespace weir
