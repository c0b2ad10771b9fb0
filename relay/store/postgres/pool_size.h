// PoolSize: decides how many reads a pool of connections sends to a database at once. No constant is right: a database
// on the same two cores gains nothing from a third connection, one that is 2 ms away gains from the twentieth, and both
// change with the load of others. So the size is found by trying: while callers wait, a further part of the connections
// is used, and stays in use only if the reads that complete in a second become more.
//
//   PoolSize size({.least = 2, .most = 32}, now);
//   size.Note(now, in_use, waiting);             // at each change of one of the two numbers
//   size.Finished(now, in_use, waiting);         // the same, after a read that succeeded
//   if (in_use < size.now()) …                   // another read may begin
//
// Time is divided into windows. A window ends after kEnoughReads reads, but not before kShortest and at the latest
// after kLongest, or after kStalled if nothing completes. Between two windows the size may change by one step. A step
// up is tried while callers wait (on average more than kWaiting of them), a step down while the connections are nearly
// all in use. If n connections complete x reads a second, and a step to m would change that to x·m/n at best, then the
// step
//
//   up   is kept if it brings at least the part Worth::more of that best change;
//   down is kept if it costs at most the part Worth::less of it.
//
// These parts are small, because a real database gains less from each connection than from the one before, and yet
// gains. They are larger while a read takes more than kSlow times as long as it did at its fastest, because then more
// connections hardly bring more reads, but each makes all reads slower. (The fastest time is measured anew after quiet
// times, and forgotten within minutes, because the reads that are asked for may become dearer.)
//
// A step that is not kept is taken back, and the pause until the next try doubles, up to kLongestPause; the next try
// goes into the other direction. Worth::less is less than Worth::more, so no size is left in both directions for good
// reason; if chance does it, because the windows differ, each kept step that undoes the one before doubles a pause,
// too. A step up doubles the size until the first one that is not kept; later steps are a third of it. When fewer
// connections were needed during all of kForgetsAfter, the size falls to what was needed, and the next growth begins
// with doubling again.
//
// Relays that compete for one database measure only themselves: if a relay has the part s of all reads that the
// database is busy with, a further connection brings it the part 1 - s of what it would bring on a database with room.
// So two relays together use up to about three times as many connections as one would, in a simulation, and three up to
// five times. Many relays grow until their `most`, which is then the bound.
//
// The size changes only during calls, so the caller of a pool in which all connections hang must call Note meanwhile.
//
// Threads: one thread at a time may use an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/clock.h"

namespace weir {

struct PoolBounds {
  size_t least = 2;  // at least 1
  size_t most = 32;  // at least `least`; the same as `least` fixes the size
};

class PoolSize {
 public:
  static constexpr uint64_t kEnoughReads = 800;
  static constexpr uint64_t kEnoughToDouble = 150;
  static constexpr Duration kShortest = std::chrono::milliseconds(50);
  static constexpr Duration kLongest = std::chrono::seconds(2);
  static constexpr Duration kStalled = std::chrono::milliseconds(250);
  static constexpr Duration kShortestPause = std::chrono::seconds(1);
  static constexpr Duration kLongestPause = std::chrono::seconds(8);
  static constexpr Duration kForgetsAfter = std::chrono::seconds(10);
  struct Worth {
    double more;
    double less;
  };
  static constexpr Worth kUsually{.more = 0.35, .less = 0.2};
  static constexpr Worth kWhenSlow{.more = 0.9, .less = 0.6};
  static constexpr double kSlow = 2;
  static constexpr double kForgotten = 0.02;  // the part of the difference to the newest time, every kForgetsAfter
  static constexpr double kWaiting = 0.5;     // callers
  static constexpr double kNearlyAll = 0.8;   // the part of the connections

  PoolSize(PoolBounds bounds, TimePoint now);

  // Notes that from `now` on `in_use` connections are used and `waiting` callers wait for one.
  void Note(TimePoint now, size_t in_use, size_t waiting);
  // Does the same after a read that succeeded. A read that failed is not counted, because a server that refuses
  // everything at once would seem to be fast.
  void Finished(TimePoint now, size_t in_use, size_t waiting);

  // Notes that the server has refused a connection because it has too many: no more than `size` are used for a while,
  // which may be below the least number.
  void Limit(size_t size, TimePoint now);

  // Returns how many connections may be in use now.
  size_t now() const { return size_; }
  // The counts of steps that were kept, and of those that were taken back.
  struct Steps {
    uint64_t up_kept = 0;
    uint64_t up_undone = 0;
    uint64_t down_kept = 0;
    uint64_t down_undone = 0;
    uint64_t tried() const { return up_kept + up_undone + down_kept + down_undone; }
  };
  const Steps& steps() const { return steps_; }

 private:
  enum class Trying : uint8_t { kNothing, kMore, kLess };
  struct Window {
    TimePoint begin{};
    uint64_t skips = 0;  // reads that do not count, because they began before the last step, or had to connect first
    uint64_t reads = 0;
    double used = 0;    // connection seconds
    double waited = 0;  // caller seconds
  };

  bool IsOver(Duration lasted) const;
  void EndWindow(TimePoint now);
  void NoteReadTime();
  void JudgeStep(double reads_per_second, double waiting, TimePoint now);
  void TryStep(double reads_per_second, double used, double waiting, TimePoint now);
  void ForgetUnneeded(TimePoint now);
  size_t StepUp() const;
  size_t StepDown() const;

  const PoolBounds bounds_;
  size_t size_;
  Trying trying_ = Trying::kNothing;
  size_t size_before_ = 0;            // before the step that is tried
  double rate_before_ = 0;            // reads a second with that size
  double read_seconds_ = 0;           // the mean of the last window with reads
  double shortest_read_seconds_ = 0;  // the shortest of these, slowly forgotten
  bool is_slow_ = false;              // when the step was tried
  bool doubles_ = true;
  bool next_is_less_ = false;  // the direction of the next try, if both are possible
  bool last_was_more_ = true;  // the direction of the last step that was kept
  int turns_ = 0;              // how many kept steps in a row each undid the one before
  Duration pause_ = kShortestPause;
  TimePoint paused_until_{};
  size_t needed_ = 0;  // the most connections in use at once since needed_since_
  TimePoint needed_since_;
  Window window_;
  TimePoint changed_at_;  // the time of the last call, and the numbers that it gave
  size_t in_use_ = 0;
  size_t waiting_ = 0;
  Steps steps_;
};

}  // namespace weir
