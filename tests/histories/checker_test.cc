// Histories that are made by hand: a sound one, and the same with each violation planted.
#include "tests/histories/checker.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

using namespace histories;
using namespace std::chrono_literals;

constexpr Time kPatience = 10s;
constexpr int kAuthor = 1;
constexpr int kTopic = 7;

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

TEST_F(CheckerTest, ASoundHistoryPassesAndIsCounted) {
  ExpectSound();
  const Verdict verdict = Check(history_, kPatience);
  EXPECT_EQ(verdict.acknowledged, 9U);
  EXPECT_EQ(verdict.refused, 1U);
  EXPECT_EQ(verdict.unanswered, 1U);
  EXPECT_EQ(verdict.deliveries, 12U);
  EXPECT_EQ(verdict.live, 7U);
  EXPECT_EQ(verdict.complete, 3U);
  EXPECT_EQ(verdict.required, 9U);  // live 0, 1, 8, 4; stored 0, 1, 8; addresses 2 (as 3) and 3
}

TEST_F(CheckerTest, AnAcknowledgedEventIsLostIfALaterAnswerLacksIt) {
  Lose(late(), 1);
  ExpectOnly(Violation::kLost);
}

TEST_F(CheckerTest, AnEventThatComesOnlyAfterEoseIsLostFromTheAnswer) {
  --late().stored;
  ExpectOnly(Violation::kLost);
}

TEST_F(CheckerTest, AnAcknowledgedEventIsLostIfItDoesNotComeLive) {
  Lose(live(), 0);
  ExpectOnly(Violation::kLost);
}

TEST_F(CheckerTest, AnEventMayBeLateOnlyWithinThePatienceAndFaultsDoNotCount) {
  Lose(live(), 0);
  live().ended = 11s;
  live().end = Subscription::End::kByClient;
  ExpectSound();
  live().ended = 12s;
  ExpectOnly(Violation::kLost);
  history_.faults = {{.relay = 1, .begin = 2s, .end = 5s}};
  ExpectOnly(Violation::kLost);
  history_.faults = {{.relay = 0, .begin = 2s, .end = 5s}};
  ExpectSound();
}

TEST_F(CheckerTest, ARelayMayCloseASubscriptionAndASlowReaderMayBeBehind) {
  Lose(live(), 0);
  live().end = Subscription::End::kByRelay;
  ExpectSound();
  live().end = Subscription::End::kDisconnected;
  ExpectOnly(Violation::kLost);
  live().slow = true;
  ExpectSound();
  live().end = Subscription::End::kByClient;
  ExpectSound();
  live().end = Subscription::End::kOpen;
  ExpectOnly(Violation::kLost);
}

TEST_F(CheckerTest, AnUnansweredEventMayBeMissing) {
  Lose(live(), 6);
  Lose(late(), 6);
  ExpectSound();
}

TEST_F(CheckerTest, AnEventMustNotComeTwice) {
  late().received.push_back({.event = 1, .at = 60s});
  ExpectOnly(Violation::kTwice);
}

TEST_F(CheckerTest, AnUnansweredEventMustNotComeTwice) {
  late().received.push_back({.event = 6, .at = 60s});
  ExpectOnly(Violation::kTwice);
}

TEST_F(CheckerTest, ARefusedEventMustNotCome) {
  live().received.push_back({.event = 5, .at = 60s});
  ExpectOnly(Violation::kUnasked);
}

TEST_F(CheckerTest, AnEventThatWasRefusedByAnErrorMayCome) {
  live().received.push_back({.event = 5, .at = 60s});
  Send(5, 1, 2s, false, true);
  ExpectSound();
}

TEST_F(CheckerTest, OnlyMatchingAndPublishedEventsMayCome) {
  live().received.push_back({.event = 2, .at = 60s});
  history_.strangers.emplace_back("f");
  ExpectOnly(Violation::kUnasked, 2);
}

TEST_F(CheckerTest, ADeletedEventMustNotComeBack) {
  late().received.push_back({.event = 7, .at = 60s});
  ExpectOnly(Violation::kUndone);
}

TEST_F(CheckerTest, AnEventOfAnAuthorWhoVanishedMustNotComeBack) {
  late().received.push_back({.event = 9, .at = 60s});
  ExpectOnly(Violation::kUndone);
}

TEST_F(CheckerTest, TheEventsOfAnAuthorWhoVanishedMayStayForThePatience) {
  Ask({.author = 2}, 1, 29s, {9, 10}, {});
  Send(9, 1, 29s, true);
  ExpectSound();
  Ask({.author = 2}, 1, 31s, {9, 10}, {});
  ExpectOnly(Violation::kUndone);
}

TEST_F(CheckerTest, ADeletedEventMustNotBeAcceptedAgain) {
  Send(7, 1, 21s, true);
  ExpectOnly(Violation::kUndone);
}

TEST_F(CheckerTest, ADeletionThatWasNotAnsweredMayRemoveItsTarget) {
  history_.attempts[8].answered = kNever;
  history_.attempts[8].accepted = false;
  ExpectSound();
  late().received.push_back({.event = 7, .at = 60s});
  ExpectSound();
}

TEST_F(CheckerTest, AnEventStaysIfItsDeletionWasRefused) {
  for (Attempt& attempt : history_.attempts)
    if (attempt.event == 8) attempt.accepted = false;
  Lose(live(), 8);
  Lose(late(), 8);
  ExpectOnly(Violation::kLost);
}

TEST_F(CheckerTest, AnAddressHoldsTheNewestVersion) {
  history_.subscriptions[addressed_].received[0].event = 2;
  ExpectOnly(Violation::kLost);
}

TEST_F(CheckerTest, AnAnswerMayHaveNoVersionWhileTheEventIsBeingReplaced) {
  history_.subscriptions[addressed_].received.clear();
  history_.subscriptions[addressed_].stored = 0;
  ExpectOnly(Violation::kLost, 2);
  Publish(kAddressable, kAny, 102, 3);
  Send(11, 0, 50s + 1ms, true);
  history_.subscriptions[addressed_].received.push_back({.event = 11, .at = 52s});
  ExpectSound();
  EXPECT_EQ(Check(history_, kPatience).between_versions, 1U);
}

TEST_F(CheckerTest, AnEphemeralEventMustComeOnlyAtItsRelay) {
  Ask({.topic = kTopic}, 1, 25s, {0, 1, 6, 8}, {});
  ExpectSound();
  Lose(live(), 4);
  ExpectOnly(Violation::kLost);
}

TEST_F(CheckerTest, EachReqIsAnsweredWithinThePatience) {
  live().eose = kNever;
  live().stored = live().received.size();
  ExpectOnly(Violation::kSilent);
  live().end = Subscription::End::kByRelay;
  ExpectSound();
  live().end = Subscription::End::kDisconnected;
  live().ended = 5s;
  ExpectSound();
}

TEST_F(CheckerTest, RelaysAgreeInTheEnd) {
  late().final = true;
  const size_t other = Ask({.topic = kTopic}, 0, 50s, {0, 1, 6, 8}, {});
  history_.subscriptions[other].final = true;
  ExpectSound();
  Lose(history_.subscriptions[other], 6);
  ExpectOnly(Violation::kDisagreed);
}

TEST_F(CheckerTest, ASerialIsGivenOnce) {
  history_.serials = {{.origin = 1, .number = 5, .id = "a"},
                      {.origin = 2, .number = 5, .id = "b"},
                      {.origin = 1, .number = 5, .id = "a"}};
  ExpectSound();
  history_.serials.push_back({.origin = 1, .number = 5, .id = "c"});
  ExpectOnly(Violation::kReused);
}

}  // namespace
}  // namespace weir
