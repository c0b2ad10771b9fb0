// A sound history that is made by hand, into which tests plant violations.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/histories/checker.h"

namespace weir::histories {

using namespace std::chrono_literals;

inline constexpr Time kPatience = 10s;
inline constexpr int kAuthor = 1;
inline constexpr int kTopic = 7;

// Two relays. Notes 0 and 1, an addressable event 2 with its newer version 3, and an ephemeral event 4 are acknowledged
// at relay 0. Event 5 is refused, event 6 stays unanswered. Note 7 is deleted by 8 at 20 s, and note 9 is by an author
// who vanishes by 10 at 20 s.
class CheckerTest : public testing::Test {
 protected:
  CheckerTest() {
    Publish(1, kTopic);
    Publish(1, kTopic);
    Publish(kAddressable, kAny, 100, 3);
    Publish(kAddressable, kAny, 101, 3);
    Publish(kEphemeral, kTopic);
    Publish(1, kTopic);
    Publish(1, kTopic);
    Publish(1, kTopic);
    Publish(kDeletion, kTopic);
    history_.events[8].deletes = {7};
    Publish(1, kTopic);
    Publish(kVanishing, kAny);
    history_.events[9].author = history_.events[10].author = 2;
    for (const uint32_t event : {0U, 1U, 2U, 3U}) Send(event, 0, 1s, true);
    Send(5, 0, 1s, false);
    history_.attempts.push_back({.event = 6, .relay = 0, .sent = 1s, .reason = {}});
    for (const uint32_t event : {7U, 9U}) Send(event, 0, 1s, true);
    for (const uint32_t event : {8U, 10U}) Send(event, 0, 20s, true);
    Send(4, 0, 30s, true);
    history_.end = 100s;
    live_ = Ask({.topic = kTopic}, 0, 0s, {}, {0, 1, 7, 9, 6, 8, 4});
    late_ = Ask({.topic = kTopic}, 1, 50s, {1, 0, 6, 8}, {});
    addressed_ = Ask({.author = kAuthor, .kind = kAddressable}, 1, 50s, {3}, {});
  }

  void Publish(int kind, int topic, int64_t created_at = 100, int address = kAny) {
    history_.events.push_back({.id = std::string(63, 'a') + static_cast<char>('a' + history_.events.size()),
                               .author = kAuthor,
                               .kind = kind,
                               .topic = topic,
                               .created_at = created_at,
                               .address = address,
                               .deletes = {}});
  }
  void Send(uint32_t event, int relay, Time at, bool accepted, bool in_doubt = false) {
    history_.attempts.push_back({.event = event,
                                 .relay = relay,
                                 .sent = at,
                                 .answered = at + 1ms,
                                 .accepted = accepted,
                                 .in_doubt = in_doubt,
                                 .reason = {}});
  }
  size_t Ask(Selection selection, int relay, Time at, const std::vector<uint32_t>& stored,
             const std::vector<uint32_t>& live) {
    Subscription s{.selection = selection, .relay = relay, .sent = at, .eose = at + 1s, .received = {}};
    for (const uint32_t event : stored) s.received.push_back({.event = event, .at = at});
    s.stored = stored.size();
    for (const uint32_t event : live) s.received.push_back({.event = event, .at = at + 2s});
    history_.subscriptions.push_back(s);
    return history_.subscriptions.size() - 1;
  }
  Subscription& live() { return history_.subscriptions[live_]; }
  Subscription& late() { return history_.subscriptions[late_]; }
  void Lose(Subscription& subscription, uint32_t event) {
    for (size_t n = 0; n < subscription.received.size(); ++n) {
      if (subscription.received[n].event != event) continue;
      subscription.received.erase(subscription.received.begin() + static_cast<std::ptrdiff_t>(n));
      if (n < subscription.stored) --subscription.stored;
    }
  }

  // Expects this many violations of this kind, and no other.
  void ExpectOnly(Violation violation, size_t count = 1) const {
    const Verdict verdict = Check(history_, kPatience);
    for (size_t n = 0; n < verdict.counts.size(); ++n)
      EXPECT_EQ(verdict.counts[n], n == static_cast<size_t>(violation) ? count : 0) << Details(verdict);
  }
  void ExpectSound() const {
    const Verdict verdict = Check(history_, kPatience);
    EXPECT_TRUE(verdict.sound()) << Details(verdict);
  }
  static std::string Details(const Verdict& verdict) {
    std::string all;
    for (const std::string& detail : verdict.details) all += detail + "\n";
    return all;
  }

  History history_;
  size_t live_ = 0;
  size_t late_ = 0;
  size_t addressed_ = 0;
};

}  // namespace weir::histories
