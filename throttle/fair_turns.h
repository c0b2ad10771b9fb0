// FairTurns: lines take turns by what each will have had. The line has the next turn that has had least, once what it
// asks for now is added. So a line that asks for little goes before those that ask for much, known or new.
//
// What a line has had is a point in a time of their own: `now` is what a line has had that waited all the while, if all
// that was done was done for all at once, in equal parts (generalized processor sharing). A line that comes begins at
// now, so it is not ahead of those who are there. One that has had more is remembered while it is away, until now has
// come that far, so it gains nothing by coming again. One that was served too little and still waits has that carried
// on to its next request.
//
// It is a crowd where more than kShares lines are known. An equal part would be too small for anybody then, so now goes
// on as if there were kShares, and nothing is owed for it. A line that takes less than one part of kShares of all that
// is done is therefore always at now. If it asks for little it goes before the whole crowd, however many these are;
// they have a kPatience-th part of what is done at least, for their waiting counts so much less.
//
// Of lines that are away about kShares are remembered. Only a new line takes memory. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <unordered_map>

namespace weir {

// What FairTurns knows of a line; the caller's line derives from it.
class FairLine {
  friend class FairTurns;
  uint64_t had_ = 0;     // the time up to which it was served
  uint64_t asks_ = 0;    // while it waits
  uint64_t ahead_ = 0;   // while it waits: of those who waited in a crowd before it came
  int64_t due_ = 0;      // while it waits: its place; while it is away: when it may be forgotten
  uint64_t number_ = 0;  // among those that are due at the same time
  uint32_t served_ = 0;  // turns that have begun and are not done
  uint8_t place_ = 0;
};

class FairTurns {
 public:
  static constexpr uint64_t kShares = 64;
  static constexpr uint64_t kPatience = 4;
  // Lines wait in one of these; the caller may leave the second one out where it asks for the next.
  enum class Sort : uint8_t { kFirst, kSecond };

  // A new line, which does not wait. Where memory fails, nothing has changed.
  void Add(FairLine& line);
  // The line is forgotten, with what it has had.
  void Remove(FairLine& line) { places_[line.place_].erase(&line); }

  // The line waits for so much, now or instead of what it waited for.
  void Wait(FairLine& line, uint64_t asks, Sort sort = Sort::kFirst);
  // A line that waits gives up, and with that what it was served too little: it is where the next one is.
  void GiveUp(FairLine& line);
  // Whose turn it is; where somebody waits.
  FairLine& Next(bool either_sort = true) const;
  // A turn of a line that waits begins, and takes probably as much as `asks`. It waits no more.
  void Begin(FairLine& line, uint64_t asks);
  // A turn that was begun with `asked` ends and was `done`.
  void End(FairLine& line, uint64_t asked, uint64_t done);

  bool empty() const { return waiting() == 0; }
  size_t waiting() const { return waiting(Sort::kFirst) + waiting(Sort::kSecond); }
  size_t waiting(Sort sort) const { return places_[static_cast<size_t>(sort)].size(); }

  // Calls `forget` for each line that is away and of which nothing need be remembered; it is no line of this any more.
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
  uint64_t undivided_ = 0;      // of what was done, the rest of the last division
  uint64_t crowded_until_ = 0;  // now, as it was in the last crowd
  uint64_t ahead_ = 0;          // of those who waited in crowds is who comes now
  uint64_t last_number_ = 0;
};

// The lines too, by key: a line is there while it waits, is served or is remembered. Where memory fails in Find,
// nothing has changed.
template <typename Line, typename Hash = std::hash<decltype(Line::key)>>
class FairLines {
 public:
  using Key = decltype(Line::key);

  // A new one where there is none.
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
  // Null where there is none.
  const Line* Known(const Key& key) const {
    const auto found = lines_.find(key);
    return found == lines_.end() ? nullptr : &found->second;
  }
  Line& Next(bool either_sort = true) const { return static_cast<Line&>(turns_.Next(either_sort)); }
  // As FairTurns has it; the line may be gone then.
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
