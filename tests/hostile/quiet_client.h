// QuietClient: the client that an attack must not harm. It has an address of its own. Twenty times a second it
// publishes a note and requests its newest notes, whether or not earlier requests were answered. It records how long
// each answer took.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "config/clock.h"
#include "relay/nostr/signature.h"
#include "tests/fixtures/raw_client.h"

namespace weir {

// The seed of the quiet client's key (relay/nostr/signature.h).
inline constexpr uint64_t kQuietSeed = 0x717569;

// Returns the id in an event's JSON.
std::string IdOf(const std::string& event);

struct Latencies {
  std::vector<double> ms;  // latencies in milliseconds, in the order in which the answers came

  double Quantile(double share) const;
  double max() const { return Quantile(1); }
};

struct QuietFigures {
  Latencies ok;
  Latencies eose;
  uint64_t asked = 0;
  uint64_t refused = 0;     // number of OK false and CLOSED
  uint64_t unanswered = 0;  // number of requests without an answer at the end
  std::string trouble;      // a failure of the connection, or the first refusal
};

class QuietClient {
 public:
  explicit QuietClient(uint16_t port);
  // Stops without waiting for answers.
  ~QuietClient();

  // Returns the figures since the last call. Waits at most a minute for answers that have not come yet.
  QuietFigures Take();

 private:
  void Run();
  void Ask();
  void Read();
  void Settle(const std::string& key, Latencies* into);

  RawClient client_;
  const Signer signer_;
  std::mutex mutex_;
  std::map<std::string, TimePoint> due_;  // event id or subscription
  std::deque<std::string> open_;          // answered subscriptions that are not closed yet
  QuietFigures figures_;
  uint64_t asked_ = 0;
  std::atomic<bool> pauses_{false};
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

}  // namespace weir
