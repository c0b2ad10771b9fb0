// RateCounts: counts events against a rate, for any number of keys in a fixed amount of memory.
//
// Each key has a bucket that holds `events` and refills evenly, `events` in each `per`; an event takes one. So a key
// may send `events` at once, and then one event in every `per` / `events`. A bucket is one number, the time at which it
// is full again. A bucket that is full is the same as none, so its place is free.
//
// A key has kWays possible places. If all are taken, the key gets the place of the bucket that is full soonest; so a
// stranger that sends from very many keys frees those that have sent least, and never the busiest. That is why each
// rate has an object of its own: among buckets of several rates, those of the longest `per` would free all others.
//
// Threads: any thread may call any function.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "config/clock.h"
#include "config/mutex.h"

namespace weir {

struct Rate {
  static constexpr uint64_t kMostEvents = 1'000'000;

  uint64_t events = 1;  // from 1 to kMostEvents
  Duration per = std::chrono::minutes(1);

  bool operator==(const Rate&) const = default;
};

class RateCounts {
 public:
  static constexpr size_t kWays = 8;
  // The default has room for 131,072 keys whose buckets are not full, in 2 MiB, which the first events allocate.
  // `places` must be a multiple of kWays × 64.
  explicit RateCounts(const Rate& rate, size_t places = size_t{1} << 17)
      : per_(rate.per), each_(rate.per / rate.events), sets_(places / kWays / kParts) {}

  // Takes an event from the bucket of the key with this hash. Returns zero, or the time after which the key may send
  // the next event; then takes nothing.
  Duration Take(uint64_t key_hash, TimePoint now);
  // Puts back an event that was taken.
  void GiveBack(uint64_t key_hash);

 private:
  struct Bucket {
    uint64_t key_hash = 0;
    TimePoint full_at{};
  };
  using Set = std::array<Bucket, kWays>;
  static constexpr size_t kParts = 64;

  // A part of the places, with a lock of its own.
  struct Part {
    Set& SetOf(uint64_t key_hash, size_t sets) WEIR_REQUIRES(mutex);

    Mutex mutex;
    std::vector<Set> places WEIR_GUARDED_BY(mutex);
  };

  Part& PartOf(uint64_t key_hash) { return parts_[key_hash % kParts]; }

  const Duration per_;
  const Duration each_;  // the time in which an event is refilled
  const size_t sets_;    // in each part
  std::array<Part, kParts> parts_;
};

}  // namespace weir
