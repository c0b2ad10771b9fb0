// PacedRemovals: removes events from the store in pieces, so that the database keeps up. After each piece that is not
// the last of its kind, it asks the write gate to admit the work of a piece as bulk work (throttle/admission.h). It
// removes the next piece when the gate has admitted that work, or has refused it because it waited too long; work that
// was charged meanwhile is asked for before the piece after that. If the gate refuses the work at once, because it
// would have to wait too long, PacedRemovals asks again later, and removes the next piece at the latest after
// kLongestRefused.
//
// It removes events of authors who asked to vanish, expired events, those that the owner of the relay bans
// (RemoveAlso), and those that a caller names (RemoveByIds); pieces of these kinds take turns. At the start and once a
// minute it looks for such events; once a minute it also calls the store's Upkeep. The owner of this object,
// GroupCommit (group_commit.h), saves the pieces of large deletions itself and passes their work to Charge.
//
// In the same way it adds older events to the index of words (EventStore::BuildSearch).
//
// Threads: all functions are called on the commit thread, except AddTo, which any thread may call.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "config/clock.h"
#include "relay/store/believed_clock.h"
#include "relay/store/event_store.h"
#include "throttle/admission.h"

namespace weir {

struct GroupCommitStats;

class PacedRemovals {
 public:
  // The time between two looks for events to remove. It may be long, because queries leave out expired events that are
  // still stored. Removals that failed are tried again at the next look.
  static constexpr uint64_t kLookEverySeconds = 60;

  // The time after which a gate that refused removals at once is asked again.
  static constexpr Duration kAskAgainAfter = std::chrono::seconds(1);
  // The time after which removals go on although the gate refuses them at once, so that they end some day.
  static constexpr Duration kLongestRefused = std::chrono::minutes(1);

  // Asks the write gate to admit this cost. If the function is empty, removals do not wait.
  using Admit = std::function<Admission(Cost cost)>;

  // `store` and the clocks must outlive the object. Events expire by `believed`.
  PacedRemovals(EventStore& store, const WallClock& clock, const Clock& steady, BelievedClock& believed, Admit admit)
      : store_(store),
        clock_(clock),
        steady_(steady),
        believed_(believed),
        admit_(std::move(admit)),
        last_look_(clock.NowSeconds()) {}

  // Returns true if one more piece may be removed now. If there is work for which the gate was not asked yet, asks it
  // first. The caller must not hold a lock, because the gate may wake other threads that then call Submit.
  bool MayGoOn();
  // Adds the work of a piece of a large deletion, for which MayGoOn then asks the gate.
  void Charge(Work work) { unpaid_ += work; }
  // Cancels a request that waits at the gate, and ends the removals of RemoveByIds with the error `why`.
  void Stop(const Status& why);

  // Sets a function that removes a piece of other events; an empty function ends that.
  void RemoveAlso(std::function<Result<OwedPiece>(Work most)> remove_piece);
  // Looks at the next opportunity whether there are such other events.
  void OweOthers() { others_.more = others_.remove_piece != nullptr; }

  // Called with the number of events that were removed, or with an error.
  using Removed = std::function<void(Result<uint64_t> removed)>;
  // Removes the events with these ids (EventStore::DeleteSome), behind those of earlier calls, and then calls `done`.
  // The ids must stay valid until then, and so must `cancelled`: if it is not null and becomes true, the removal ends
  // with the number so far. A removal that fails is not tried again.
  void RemoveByIds(std::span<const EventId> ids, const std::atomic<bool>* cancelled, Removed done);

  // Returns true if there may be events to remove, or to add to the index of words.
  bool owes() const { return owes_removals() || searched_.more; }
  // Notes that a request to vanish was saved.
  void OweVanishing() { vanished_.more = true; }
  // Looks for events to remove if a minute has passed since the last look. Then removes one piece, if there is one and
  // the gate allows it.
  void GoOn();
  // Removes one piece of events that have to vanish, if there is one and the gate allows it.
  void GoOnVanishing();

  // Sets the counters of removals in `stats`.
  void AddTo(GroupCommitStats* stats) const;

 private:
  // The work of one piece. It is less than that of a large write, so an event of a client does not wait longer for a
  // piece than for a write.
  static constexpr Work kPieceWork = 2 * kTurnWork;

  // One of the kinds of removals.
  struct Owed {
    const char* what;  // for log messages
    std::function<Result<OwedPiece>()> remove_piece;
    const char* done = "removed";  // for log messages
    bool more = true;     // there may be events to remove; true at first, because an earlier process may have left some
    bool failed = false;  // the last piece failed
    std::atomic<uint64_t> removed{0};
  };
  // One call of RemoveByIds.
  struct ById {
    std::span<const EventId> left;
    const std::atomic<bool>* cancelled;
    Removed done;
    uint64_t removed = 0;
  };

  bool owes_removals() const { return vanished_.more || expired_.more || others_.more || by_id_.more; }
  bool IsPutOff();
  void Look();
  void Remove(Owed* owed);
  Result<OwedPiece> RemovePieceById();
  void EndCancelled();

  EventStore& store_;
  const WallClock& clock_;
  const Clock& steady_;
  BelievedClock& believed_;
  const Admit admit_;
  std::optional<Admission> admission_;
  Work unpaid_ = 0;  // work of removals for which the gate was not asked yet, or which it refused at once
  std::optional<TimePoint> refused_since_;  // the first of the refusals at once that came one after the other
  TimePoint ask_again_{};                   // the gate is not asked before this time
  uint64_t last_look_;                      // seconds since 1970
  Owed vanished_{"what is to vanish", [this] { return store_.RemoveVanished(kPieceWork); }};
  Owed expired_{"what expired", [this] { return store_.RemoveExpired(believed_.NowSeconds(), kPieceWork); }};
  Owed searched_{"the index of words", [this] { return store_.BuildSearch(kPieceWork); }, "completed"};
  Owed others_{.what = "what is banned", .remove_piece = {}, .more = false};
  std::deque<ById> calls_;
  Owed by_id_{.what = "what is named", .remove_piece = [this] { return RemovePieceById(); }, .more = false};
  const std::array<Owed*, 5> turns_{&searched_, &vanished_, &expired_, &others_, &by_id_};
  size_t next_turn_ = 0;
  bool upkeep_failed_ = false;
  std::atomic<uint64_t> sweeps_{0};
  std::atomic<uint64_t> failed_sweeps_{0};
};

}  // namespace weir
