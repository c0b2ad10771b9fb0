// FairTurns: chooses which of several lines is served next, so that all lines are served equal amounts. A line is a
// queue of requests with one owner, such as a client; an amount is a number of bytes, or of anything else that the
// caller counts. The next turn goes to the waiting line that will have been served least once its next request is done.
// The one that asks for less comes first of two lines that were served equally.
//
// Each line has a position in a virtual time; the position advances by the amount that the line is served. `now` is the
// position of an ideal line that has always waited, if all lines are served equally at the same time (generalized
// processor sharing). A new line begins at `now`, so it is not ahead of the lines that wait already. A line is "away"
// while it neither waits nor is served. If its position is then beyond `now`, it is remembered until `now` has reached
// that position, or until no line waits or is served. So no line gains anything by going away and coming back. A line
// that is behind `now` is still owed the difference as long as it goes on waiting.
//
// More than kShares known lines (lines that wait, are served or are remembered) are a crowd. An equal part would then
// be too small for any of them, so `now` advances as if there were kShares lines, and a line that is behind `now` loses
// the difference. Therefore a line that uses less than a kShares-th of all that is served is always at `now`, and if it
// asks for little, it is served before the whole crowd, however large the crowd is. The crowd still gets at least a
// kPatience-th of all that is served, because a waiting line gains a kPatience-th of an equal part on lines that come
// later.
//
// Credit, if the caller allows it: a line that comes back after `now` has passed its position gets the difference, up
// to the most credit, for free in its next requests. So a client that uses less than an equal part does not wait for
// the whole crowd when it once asks for more. A line that never was away has no credit, and neither has a new one. What
// all lines together get for free is at most a kFreePart-th of what lines pay for, and kBurst times the most credit at
// once. So many lines that save up their credit and use it together delay the others by no more than that, and when
// they ask for more, they wait as if there were no credit. The parts above, of a crowd and of others, are parts of what
// lines pay for.
//
// FairTurns remembers about kShares lines that are away. Only Add allocates memory. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

namespace weir {

// The data that FairTurns keeps for a line. The caller's type of line derives from it.
class FairLine {
  friend class FairTurns;
  uint64_t had_ = 0;     // the line's position in virtual time
  uint64_t asks_ = 0;    // while it waits: the amount of its next request
  uint64_t credit_ = 0;  // an amount that may not advance its position, without `lead_` and `free_`
  uint64_t lead_ = 0;    // while it waits: the part of its next request that it gets for free
  uint64_t free_ = 0;    // the part of its present turns that it gets for free
  uint64_t ahead_ = 0;   // while it waits: FairTurns::ahead_ when it began to wait
  int64_t due_ = 0;      // while it waits: its rank, the lowest is next; while it is away: its position
  uint64_t number_ = 0;  // orders lines with the same due_
  uint32_t served_ = 0;  // turns that have begun but not ended
  uint8_t place_ = 0;    // the index in FairTurns::places_ of the set with the line
};

class FairTurns {
 public:
  static constexpr uint64_t kShares = 64;
  static constexpr uint64_t kPatience = 4;
  static constexpr uint64_t kFreePart = 2;
  static constexpr uint64_t kBurst = 16;
  // Waiting lines are of two sorts, so that Next can leave out the second.
  enum class Sort : uint8_t { kFirst, kSecond };

  explicit FairTurns(uint64_t most_credit = 0) : most_credit_(most_credit), may_be_free_(kBurst * most_credit) {}

  // Adds a new line, which does not wait yet. FairTurns keeps a pointer to it. If memory runs out, throws
  // std::bad_alloc and changes nothing. A line that was forgotten at a position before `now` continues from there.
  void Add(FairLine& line) { Add(line, now_); }
  void Add(FairLine& line, uint64_t position);
  // Removes the line and forgets how much it was served.
  void Remove(FairLine& line);

  // Makes the line wait for a turn with a request of the amount `asks`. If it waits already, this replaces its request.
  void Wait(FairLine& line, uint64_t asks, Sort sort = Sort::kFirst);
  // Ends the wait of a line without a turn. If the line is behind `now`, or was served less than the line that is next
  // now, it loses the difference. Turns of it that have begun go on.
  void GiveUp(FairLine& line);
  // Returns the line whose turn it is: of either sort, or only of the first sort if `either_sort` is false. REQUIRES:
  // at least one such line waits.
  FairLine& Next(bool either_sort = true) const;
  // Begins a turn of a waiting line, which will probably be served the amount `asks`. The line stops waiting; Wait may
  // be called for its next request at once, so a line may have several turns at a time.
  void Begin(FairLine& line, uint64_t asks);
  // Ends a turn of the line. `asked` is the amount with which the turn began, and `done` the amount that the line was
  // actually served, of which GoOn has counted `counted` already.
  void End(FairLine& line, uint64_t asked, uint64_t done, uint64_t counted = 0);
  // Counts an amount that a waiting line is served before its turn begins: advances `now`, so that a line that begins
  // to wait now does not come before the one that is nearly done.
  void GoOn(uint64_t done);

  // Returns the position at which a line that is forgotten may be added again.
  static uint64_t PositionOf(const FairLine& line) { return line.had_ - std::min(line.had_, line.credit_); }

  bool empty() const { return waiting() == 0; }
  size_t waiting() const { return waiting(Sort::kFirst) + waiting(Sort::kSecond); }
  size_t waiting(Sort sort) const { return places_[static_cast<size_t>(sort)].size(); }

  // Removes each line that is away and need not be remembered, then calls forget(line), which may destroy the line.
  template <typename Forget>
  void ForgetThoseAway(Forget forget) {
    Lines& away = places_[kAway];
    while (!away.empty() && (present() == 0 || (*away.begin())->had_ <= now_)) {
      FairLine& line = **away.begin();
      away.erase(away.begin());
      forget(line);
    }
  }

 private:
  enum Place : uint8_t { kWaits, kWaitsInSecond, kServed, kAway };
  struct Earlier {
    bool operator()(const FairLine* a, const FairLine* b) const {
      return a->due_ != b->due_ ? a->due_ < b->due_ : a->number_ < b->number_;
    }
  };
  using Lines = std::set<FairLine*, Earlier>;

  size_t present() const { return waiting() + places_[kServed].size(); }
  size_t known() const { return present() + places_[kAway].size(); }
  bool IsWaiting(const FairLine& line) const { return line.place_ == kWaits || line.place_ == kWaitsInSecond; }
  void Put(FairLine& line, uint8_t place, uint64_t due, uint64_t number);
  static uint64_t Rank(const FairLine& line) { return line.had_ + line.asks_ - line.lead_ - line.ahead_; }
  void ReturnLead(FairLine& line);
  void MayBeFree(uint64_t amount) { may_be_free_ = std::min(may_be_free_ + amount, kBurst * most_credit_); }

  uint64_t most_credit_;
  uint64_t may_be_free_;  // the amount that all lines together may get for free now
  std::array<Lines, 4> places_;
  uint64_t now_ = 0;
  uint64_t undivided_ = 0;      // remainder of the last division of an amount among the lines
  uint64_t crowded_until_ = 0;  // the value of now_ when a turn last ended in a crowd
  uint64_t ahead_ = 0;          // subtracted from the rank of a line that begins to wait now; grows in a crowd
  uint64_t last_number_ = 0;
};

// FairLines: a FairTurns that owns its lines and finds them by key. A line exists while it waits, is served or is
// remembered. Line derives from FairLine and has a member `key`. If there is credit, FairLines also keeps the positions
// of most of the last kPositions lines that it has forgotten.
template <typename Line, typename Hash = std::hash<decltype(Line::key)>>
class FairLines {
 public:
  using Key = decltype(Line::key);
  static constexpr size_t kPositions = 4096;
  static constexpr size_t kPlaces = 8;  // positions that may be of one key

  explicit FairLines(uint64_t most_credit = 0) : turns_(most_credit), positions_(most_credit == 0 ? 0 : kPositions) {}

  // Returns the line with that key; makes one if there is none. If memory runs out, throws std::bad_alloc and changes
  // nothing.
  Line& Find(const Key& key) {
    const auto [entry, is_new] = lines_.try_emplace(key);
    Line& line = entry->second;
    if (!is_new) return line;
    line.key = key;
    try {
      turns_.Add(line, PositionOf(key));
    } catch (...) {
      lines_.erase(entry);
      throw;
    }
    return line;
  }
  // Returns the line with that key; throws std::out_of_range if there is none.
  Line& At(const Key& key) { return lines_.at(key); }
  // Returns the line with that key, or null if there is none.
  const Line* Known(const Key& key) const {
    const auto found = lines_.find(key);
    return found == lines_.end() ? nullptr : &found->second;
  }
  Line& Next(bool either_sort = true) const { return static_cast<Line&>(turns_.Next(either_sort)); }
  // End and GiveUp act as in FairTurns, then destroy the lines that need not be remembered; `line` may be one of them.
  void End(Line& line, uint64_t asked, uint64_t done, uint64_t counted = 0) {
    turns_.End(line, asked, done, counted);
    Forget();
  }
  void GiveUp(Line& line) {
    turns_.GiveUp(line);
    Forget();
  }

  FairTurns& turns() { return turns_; }
  const FairTurns& turns() const { return turns_; }
  size_t size() const { return lines_.size(); }

 private:
  struct Position {
    std::optional<Key> key;
    uint64_t position = 0;
  };

  void Forget() {
    turns_.ForgetThoseAway([this](FairLine& away) {
      const Key key = static_cast<Line&>(away).key;
      Keep(key, FairTurns::PositionOf(away));
      lines_.erase(key);
    });
  }
  // The places that a key may have.
  std::span<Position> PlacesOf(const Key& key) {
    if (positions_.empty()) return {};
    return std::span(positions_).subspan(Hash()(key) % (positions_.size() / kPlaces) * kPlaces, kPlaces);
  }
  void Keep(const Key& key, uint64_t position) {
    Position* place = nullptr;
    for (Position& other : PlacesOf(key)) {
      if (other.key == key) return void(other.position = position);
      if (place == nullptr || other.position < place->position) place = &other;
    }
    if (place != nullptr) *place = {key, position};
  }
  uint64_t PositionOf(const Key& key) {
    for (const Position& kept : PlacesOf(key))
      if (kept.key == key) return kept.position;
    return UINT64_MAX;
  }

  std::unordered_map<Key, Line, Hash> lines_;
  FairTurns turns_;
  std::vector<Position> positions_;
};

}  // namespace weir
