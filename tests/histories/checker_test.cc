// Histories that are made by hand: a sound one, and the same with each violation planted.
#include "tests/histories/checker_fixture.h"

namespace weir {
namespace {

using namespace histories;
using namespace std::chrono_literals;

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

TEST_F(CheckerTest, AReqOfASlowReaderIsAnsweredOnceItHasReadEverything) {
  live().eose = kNever;
  live().stored = live().received.size();
  live().slow = true;
  ExpectOnly(Violation::kSilent);
  live().end = Subscription::End::kByClient;
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
