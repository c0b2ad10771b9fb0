// The clients of a run. Each has a thread and a connection of its own, which it opens again when it ends.
//
// A Publisher sends events of all kinds, one after the other, to one relay, and to any relay after its connection
// ended: also events that are stored, deleted or unanswered already, forged ones, deletions and requests to vanish. A
// Subscriber opens subscriptions at one relay and closes old ones. A slow one reads a byte a second for a while, then
// at full speed, in turn.
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
#include "relay/nostr/relay_message.h"
#include "relay/nostr/signature.h"
#include "tests/histories/line.h"
#include "tests/histories/plant.h"
#include "tests/histories/recorder.h"

namespace weir::histories {

// Company: the data that the clients of a run share. Thread-safe.
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
  // Returns an event that a publisher has deleted or that has vanished; without a JSON if there is none.
  Sendable AnyRemoved(std::mt19937_64& random) const;

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
  std::vector<std::shared_ptr<const Author>> common_;
};

class Publisher {
 public:
  Publisher(Company& company, int relay, uint64_t number);
  void Run();

 private:
  using Sendable = Company::Sendable;

  void SendAny();
  Sendable Make(const Company::Author& author, Published event, const std::string& tags, bool forged = false);
  void PublishNote();
  void PublishAddressable();
  void Delete();
  void Vanish();
  // Returns true if the relay answered OK true.
  bool Send(const Sendable& event);
  size_t Below(size_t bound) { return random_() % bound; }

  Company& company_;
  int relay_;
  std::mt19937_64 random_;
  std::unique_ptr<Line> line_;
  std::shared_ptr<const Company::Author> author_;
  std::deque<Sendable> accepted_;  // notes of author_
  Sendable unanswered_;
};

class Subscriber {
 public:
  Subscriber(Company& company, int relay, bool slow, uint64_t number);
  void Run();

 private:
  void Subscribe();
  void CloseOldest();
  void Read();
  void Take(const RelayMessage& message);

  Company& company_;
  const int relay_;
  const bool slow_;
  std::mt19937_64 random_;
  std::unique_ptr<Line> line_;
  std::map<size_t, bool> open_;  // numbers of subscriptions; true once EOSE came
};

// Asks a relay for all events, when all work has ended. Each answer may take `patience`.
void AskForAll(Company& company, int relay, Time patience);

}  // namespace weir::histories
