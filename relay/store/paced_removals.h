// PacedRemovals: what the store removes in pieces between the writes of others, no faster than the engine keeps up
// with. What was removed is asked for at the write gate, as bulk work, and the next piece waits as long as that
// admission.
//
// There are pieces of large deletions, which the owner saves and charges here, and of what the store owes: to authors
// who asked to vanish, and what expired. These two take turns, and are looked for once a minute, when the store's own
// upkeep is due, too. What expired is what has by a clock that is believed.
//
// Used on the commit thread, but for AddTo.
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
  // Expired events are neither served nor saved; how long they still take up room matters to nobody. What failed is
  // tried again as often.
  static constexpr uint64_t kLookEverySeconds = 60;

  // Asks the write gate. Without it nothing holds removals up.
  using Admit = std::function<Admission(Cost cost)>;

  PacedRemovals(EventStore& store, const WallClock& clock, const Clock& steady, Admit admit)
      : store_(store),
        clock_(clock),
        believed_(clock, steady),
        admit_(std::move(admit)),
        last_look_(clock.NowSeconds()) {}

  // Whether the next piece may go. Not for where a lock is held: the gate may tell others, who submit.
  bool MayGoOn();
  // What a piece of a deletion took.
  void Charge(Work work) { unpaid_ += work; }
  // The gate is not asked any more.
  void Stop() { admission_.reset(); }

  bool owes() const { return vanished_.more || expired_.more; }
  void OweVanishing() { vanished_.more = true; }
  // Removes a piece of what is owed, or of what is to vanish, if it may.
  void GoOn();
  void GoOnVanishing();

  void AddTo(GroupCommitStats* stats) const;

 private:
  // Of one piece of what is owed: others wait no longer for it than for a small write.
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
  Work unpaid_ = 0;  // what was removed and the gate was not asked for yet
  uint64_t last_look_;
  Owed vanished_{"what is to vanish", [this] { return store_.RemoveVanished(kPieceWork); }};
  Owed expired_{"what expired", [this] { return store_.RemoveExpired(believed_.NowSeconds(), kPieceWork); }};
  bool expired_is_next_ = false;
  bool upkeep_failed_ = false;
  std::atomic<uint64_t> sweeps_{0};
  std::atomic<uint64_t> failed_sweeps_{0};
};

}  // namespace weir
