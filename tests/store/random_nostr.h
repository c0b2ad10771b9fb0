// Random events and filters in which much collides: few authors, kinds, tag values and seconds, so that replacements,
// ties, deletions before and after their target, and matches at the edges are common.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "relay/nostr/filter.h"
#include "tests/store/plain_event.h"

namespace weir {

class RandomNostr {
 public:
  static constexpr uint64_t kStart = 1'700'000'000;  // around this the events are dated, expire and vanish
  static constexpr const char* kOwnUrl = "wss://weir.example";

  // `events` all exist from the start, so that an event can name one that comes later.
  RandomNostr(uint64_t seed, size_t events);

  // Uniform below n.
  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

  const std::vector<PlainEvent>& events() const { return events_; }
  // One of those that come around `progress` (0 to 1) of the history.
  const PlainEvent& Around(double progress);
  std::vector<Filter> Filters();

 private:
  template <typename T>
  const T& Pick(const std::vector<T>& values) {
    return values[Below(values.size())];
  }
  uint64_t Second();
  std::string AnyAuthor();
  std::string AnyAddress();
  std::string AnyTagValue(char letter);
  Tag AnyTag();
  PlainEvent Ordinary();
  PlainEvent Deletion();
  PlainEvent Vanish();
  Filter AnyFilter();
  void NarrowTime(Filter& filter);
  TagCondition AnyCondition(char letter);

  std::mt19937_64 random_;
  std::vector<PlainEvent> events_;
};

}  // namespace weir
