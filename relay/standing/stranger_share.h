// StrangerShare: the share of the writes that strangers get while the relay is under pressure. A stranger is an author
// below Rung::kRegular (standing.h).
//
// The relay is under pressure while the load of the storage engine has reached the setpoint of a class of writes, less
// a tenth, and this class is limited; or in an emergency of memory. Without pressure the share is 1, which means that
// it limits nobody. Strangers are then bulk work at the write gate, so their own flood is held at the setpoint of bulk
// work, below that of clients.
//
// When pressure begins, the share falls to kLeast: all strangers together may write a twentieth of what the engine
// carries. This is the limit of clients' writes or the engine's drain, whichever is lower. Further events wait here,
// up to kLongestWait, and are then refused with a time to come back. Parties take turns in bytes (FairQueue). Events
// are refused at once only if 10,000 wait or if their bytes have no room (TakeRoom).
//
// When pressure has ended, the share doubles every kDoubling until it is 1, but only while no stranger has to wait: a
// flood that still waits would bring the pressure back at once, and again and again. So a flood keeps the least share
// as long as it lasts. After kLongestHold without pressure the share grows even if strangers wait, because they may
// need just a little more than the least share of an idle engine.
//
// Waiting events cannot prolong the pressure: they wait at a gate of their own, which the limiter does not see, and
// their bytes count as waiting bytes, which the limiter leaves out of its levels (Signal::waiting).
//
// Threads: any thread may call any function, except that Start and Stop belong to the owner. Nothing blocks. Start
// begins a thread that calls GoOn; a test calls GoOn itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "config/clock.h"
#include "config/mutex.h"
#include "throttle/adaptive_limiter.h"
#include "throttle/limits/by_name/ticker.h"
#include "throttle/write_gate.h"

namespace weir {

class StrangerShare {
 public:
  static constexpr double kLeast = 0.05;
  // Common clients give up then: nostr-tools waits 4.4 s for an OK.
  static constexpr Duration kLongestWait = std::chrono::seconds(4);
  static constexpr Duration kDoubling = std::chrono::seconds(10);
  static constexpr Duration kLongestHold = std::chrono::minutes(10);
  static constexpr Duration kTick = std::chrono::milliseconds(100);

  // `look` returns the limiter's view. Strangers' events that wait may hold at most `most_bytes` of the byte budget. If
  // that is 0, none waits: Admit refuses at once an event that would have to wait, which is all that observing needs.
  // The clock must outlive the object, and the object must outlive its Admissions and its Rooms.
  StrangerShare(std::function<LimiterView()> look, uint64_t most_bytes, const Clock& clock);
  ~StrangerShare();  // calls Stop

  void Start();
  // Ends the thread, admits the events that wait here, and limits nobody from then on.
  void Stop();
  // Looks at the limiter if that is due, admits the events whose turn has come, and refuses those that have waited too
  // long. Returns the time of the next call.
  TimePoint GoOn();

  // Asks for the admission of a stranger's event. The class of `party` does not matter.
  Admission Admit(Cost cost, Party party);
  // Returns true while the share is below 1.
  bool limits() const { return !gate_.open(); }

  // Room for an event of `party` that waits, here or at the write gate. Its destructor gives the bytes back. Null if
  // there is none. Each of the two groups (strangers and newcomers) has half of the bytes. A party whose events wait
  // gets no more than the others leave free, so each of a hundred that flood holds a hundredth, and a further one still
  // finds room for its events.
  struct GivesBack {
    uint64_t bytes = 0;
    Party party;
    void operator()(StrangerShare* share) const { share->GiveBack(bytes, party); }
  };
  using Room = std::unique_ptr<StrangerShare, GivesBack>;
  Room TakeRoom(uint64_t bytes, const Party& party);

  struct State {
    double share = 1;
    double bytes_per_second = 0;  // 0 if nobody is limited
    uint64_t waiting = 0;         // events that wait here
    uint64_t held_bytes = 0;      // the bytes that those who wait here or at the write gate hold
    uint64_t admitted_bytes = 0;  // the sum of the costs that were admitted
    uint64_t pressures = 0;       // how often pressure has begun
  };
  State Now() const;

 private:
  // The bytes that the events of one group hold.
  struct Held {
    uint64_t bytes = 0;
    std::unordered_map<uint64_t, uint64_t> of;  // by party, without those that hold none
  };

  void GiveBack(uint64_t bytes, const Party& party);
  void Look(TimePoint now);
  WriteLimits Limits() const WEIR_REQUIRES(mutex_);

  const std::function<LimiterView()> look_;
  const uint64_t most_bytes_;
  const Clock& clock_;

  mutable Mutex held_mutex_;
  std::unordered_map<uint64_t, Held> held_ WEIR_GUARDED_BY(held_mutex_);  // by group

  mutable Mutex mutex_;  // taken before the gate's lock
  double share_ WEIR_GUARDED_BY(mutex_) = 1;
  double engine_bytes_per_second_ WEIR_GUARDED_BY(mutex_) = 0;  // the engine carries so much; 0: not known yet
  TimePoint pressed_at_ WEIR_GUARDED_BY(mutex_){};              // when the relay was last under pressure
  std::optional<TimePoint> looked_at_ WEIR_GUARDED_BY(mutex_);
  uint64_t pressures_ WEIR_GUARDED_BY(mutex_) = 0;
  bool stopped_ WEIR_GUARDED_BY(mutex_) = false;

  Ticker ticker_;
  WriteGate gate_;  // uses its interactive line alone
};

}  // namespace weir
