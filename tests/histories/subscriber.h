// A Subscriber opens subscriptions at one relay and closes old ones, on a connection of its own, which it opens again
// when it ends. A slow one reads a byte a second for a while, then at full speed, in turn.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>

#include "relay/nostr/relay_message.h"
#include "tests/histories/company.h"
#include "tests/histories/line.h"

namespace weir::histories {

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
