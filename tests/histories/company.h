// Company: the data that the clients of a run share. Each client has a thread and a connection of its own
// (publisher.h, subscriber.h).
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "config/mutex.h"
#include "relay/nostr/signature.h"
#include "tests/histories/plant.h"
#include "tests/histories/recorder.h"

namespace weir::histories {

class Company {
 public:
  // The run sets the phase. Publishers return after kLoad, and subscribers, which open subscriptions in kLoad only, in
  // kOver.
  enum class Phase : uint8_t { kLoad, kSettle, kOver };
  static constexpr int kCommonAuthors = 4;  // authors of addressable events, whom all publishers use

  Company(Recorder& recorder, Plant& plant, std::vector<uint16_t> ports, uint64_t seed);

  struct Author {
    int number;
    Signer signer;
  };
  // Adds an author.
  std::shared_ptr<const Author> NewAuthor();
  std::shared_ptr<const Author> common(size_t n) const { return common_[n]; }
  // Returns the JSON of the filter.
  std::string FilterOf(const Selection& selection) const;
  // Returns the number of one of the topics that events have at this time. No topic has more events than an answer.
  int Topic(std::mt19937_64& random) const;
  std::vector<Selection> FinalSelections() const;

  struct Sendable {
    uint32_t event = 0;
    std::string json;
  };
  void AddRemoved(Sendable event);
  // Returns an event that was deleted or banned, has vanished, or expires soon; without a JSON if there is none.
  Sendable AnyRemoved(std::mt19937_64& random) const;
  void AddVersion(int address, Sendable event);
  // Adds the latest versions at the address to the removed events.
  void RemoveVersions(int address);

  Recorder& recorder;
  Plant& plant;
  const std::vector<uint16_t> ports;
  const uint64_t seed;
  std::atomic<Phase> phase{Phase::kLoad};
  std::atomic<int> newest_author{0};

 private:
  mutable Mutex mutex_;
  std::vector<std::string> keys_ WEIR_GUARDED_BY(mutex_);  // the authors' keys, by number
  std::deque<Sendable> removed_ WEIR_GUARDED_BY(mutex_);
  std::map<int, std::deque<Sendable>> versions_ WEIR_GUARDED_BY(mutex_);  // by address
  std::vector<std::shared_ptr<const Author>> common_;
};

}  // namespace weir::histories
