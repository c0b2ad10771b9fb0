// FairTurns: lines take turns by how much each was served. The next turn goes to the line that will have had least once
// what it asks for now is added. So a line that asks for little goes before those that ask for much, known or new.
//
// What a line has had is a point in a virtual time. `now` is what a line would have had that waited all the while, if
// everything was done for all lines at once, in equal parts (generalized processor sharing). A new line begins at now,
// so it is not ahead of the lines that are there. A line that has had more is remembered while it is away, until now
// has come that far, so it gains nothing by coming again. If a line was served too little and still waits, that carries
// over to its next request.
//
// More than kShares known lines are a crowd. An equal part would then be too small for any of them, so now goes on as
// if there were kShares, and no line is owed the difference. A line that takes less than a kShares-th of all that is
// done is therefore always at now. If it asks for little, it goes before the whole crowd, however large that is. The
// crowd still gets at least a kPatience-th of what is done, because its waiting counts a kPatience-th of an equal part.
//
// About kShares of the lines that are away are remembered. Only a new line takes memory. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <unordered_map>

namespace weir {

// The part of a line that FairTurns knows; the caller's line derives from it.
class FairLine {
  friend class FairTurns;
  uint64_t had_ = 0;     // the time up to which it was served
  uint64_t asks_ = 0;    // while it waits: for how much
  uint64_t ahead_ = 0;   // while it waits: FairTurns::ahead_ when it came
  int64_t due_ = 0;      // while it waits: its place; while it is away: when it may be forgotten
  uint64_t number_ = 0;  // orders lines that are due at the same time
  uint32_t served_ = 0;  // turns that have begun and not ended
  uint8_t place_ = 0;
};

class FairTurns {
 public:
  static constexpr uint64_t kShares = 64;
  static constexpr uint64_t kPatience = 4;
  // The sorts of waiting lines; a caller that asks for the next line may leave out the second sort.
  enum class Sort : uint8_t { kFirst, kSecond };

  // Adds a new line, which does not wait. If memory fails, nothing has changed.
  void Add(FairLine& line);
  // Forgets the line and what it has had.
  void Remove(FairLine& line) { places_[line.place_].erase(&line); }

  // Makes the line wait for `asks`, instead of what it waited for before.
  void Wait(FairLine& line, uint64_t asks, Sort sort = Sort::kFirst);
  // Ends the waiting of a line. It loses what it was served too little: it has then had no less than the next line.
  void GiveUp(FairLine& line);
  // Returns the line whose turn it is; one has to wait.
  FairLine& Next(bool either_sort = true) const;
  // Begins a turn of a waiting line, which will probably take `asks`. The line waits no more.
  void Begin(FairLine& line, uint64_t asks);
  // Ends a turn that began with `asked` and took `done`.
  void End(FairLine& line, uint64_t asked, uint64_t done);

  bool empty() const { return waiting() == 0; }
  size_t waiting() const { return waiting(Sort::kFirst) + waiting(Sort::kSecond); }
  size_t waiting(Sort sort) const { return places_[static_cast<size_t>(sort)].size(); }

  // Calls `forget` for each line that is away and need not be remembered; the line does not belong to this any more.
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
  void GoOn(uint64_t done);

  std::array<Lines, 4> places_;
  uint64_t now_ = 0;
  uint64_t undivided_ = 0;      // remainder of the last division of what was done
  uint64_t crowded_until_ = 0;  // now_ in the last crowd
  uint64_t ahead_ = 0;          // how far a line that comes now is ahead of those that waited in crowds
  uint64_t last_number_ = 0;
};

// FairTurns with its lines, by key: a line is there while it waits, is served or is remembered. If memory fails in
// Find, nothing has changed.
template <typename Line, typename Hash = std::hash<decltype(Line::key)>>
class FairLines {
 public:
  using Key = decltype(Line::key);

  // Returns the line of that key, a new one if there is none.
  Line& Find(const Key& key) {
    const auto [entry, is_new] = lines_.try_emplace(key);
    Line& line = entry->second;
    if (!is_new) return line;
    line.key = key;
    try {
      turns_.Add(line);
    } catch (...) {
      lines_.erase(entry);
      throw;
    }
    return line;
  }
  Line& At(const Key& key) { return lines_.at(key); }
  // Returns null if there is none.
  const Line* Known(const Key& key) const {
    const auto found = lines_.find(key);
    return found == lines_.end() ? nullptr : &found->second;
  }
  Line& Next(bool either_sort = true) const { return static_cast<Line&>(turns_.Next(either_sort)); }
  // Both act as in FairTurns; the line may be gone afterwards.
  void End(Line& line, uint64_t asked, uint64_t done) {
    turns_.End(line, asked, done);
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
  void Forget() {
    turns_.ForgetThoseAway([this](FairLine& away) { lines_.erase(Key(static_cast<Line&>(away).key)); });
  }

  std::unordered_map<Key, Line, Hash> lines_;
  FairTurns turns_;
};

}  // namespace weir
