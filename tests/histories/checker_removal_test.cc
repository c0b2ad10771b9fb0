// Histories that are made by hand, with deletions of addresses, bans, and events that expire.
#include "tests/histories/checker_fixture.h"

namespace weir {
namespace {

using namespace histories;
using namespace std::chrono_literals;

constexpr int kOther = 3;  // an author

class CheckerRemovalTest : public CheckerTest {
 protected:
  // Returns the number of a new event by kOther.
  uint32_t Add(int kind, int64_t created_at = 100, int address = kAny) {
    Publish(kind, kAny, created_at, address);
    history_.events.back().author = kOther;
    return static_cast<uint32_t>(history_.events.size() - 1);
  }
  // Returns the number of a new event by kOther that is acknowledged at relay 0 at 1 s and expires at 20 s.
  uint32_t AddExpiring() {
    const uint32_t event = Add(1);
    history_.events[event].expires = 20s;
    Send(event, 0, 1s, true);
    return event;
  }
  size_t AskOther(int relay, Time at, const std::vector<uint32_t>& stored) {
    return Ask({.author = kOther}, relay, at, stored, {});
  }
  void MoveClock(int relay, Time ahead, Time begin, Time end) {
    history_.clocks.push_back({.relay = relay, .ahead = ahead, .begin = begin, .end = end});
  }
};

// Version 11 is acknowledged at 1 s. Deletion 12 of its address, and 13, a newer version, follow at 20 s and 21 s.
class DeletedAddressTest : public CheckerRemovalTest {
 protected:
  DeletedAddressTest() {
    Add(kAddressable, 100, 4);
    Add(kDeletion, 100);
    history_.events[12].deletes_address = 4;
    Add(kAddressable, 101, 4);
    Send(11, 0, 1s, true);
    Send(12, 0, 20s, true);
    Send(13, 0, 21s, true);
  }
};

TEST_F(DeletedAddressTest, ItsVersionsGoAndNewerOnesStay) {
  Ask({.author = kOther}, 1, 10s, {11}, {12, 13});
  AskOther(1, 50s, {12, 13});
  ExpectSound();
  AskOther(1, 50s, {12});
  ExpectOnly(Violation::kLost);
}

TEST_F(DeletedAddressTest, AnOldVersionMustNotComeBack) {
  AskOther(1, 50s, {11, 12, 13});
  ExpectOnly(Violation::kUndone);
}

TEST_F(DeletedAddressTest, AnOldVersionMustNotBeAcceptedAgain) {
  Send(11, 1, 22s, false);
  ExpectSound();
  Send(11, 1, 22s, true);
  ExpectOnly(Violation::kUndone);
}

TEST_F(DeletedAddressTest, AnOldVersionThatWasNeverSentBeforeMustNotBeAccepted) {
  const uint32_t late = Add(kAddressable, 99, 4);
  Send(late, 1, 22s, true);
  ExpectOnly(Violation::kUndone);
}

TEST_F(DeletedAddressTest, ADeletionThatWasNotAnsweredMayHold) {
  history_.attempts[history_.attempts.size() - 2].answered = kNever;
  history_.attempts[history_.attempts.size() - 2].accepted = false;
  history_.events[13].created_at = 99;  // so the first version is the newest one
  AskOther(1, 50s, {11, 12});
  AskOther(1, 50s, {});
  ExpectSound();
}

// Relay 0 confirms at 20 s the ban of note 11, which was acknowledged at 1 s.
class BanTest : public CheckerRemovalTest {
 protected:
  BanTest() {
    Add(1);
    Add(1);
    Send(11, 0, 1s, true);
    Send(12, 0, 1s, true);
    history_.bans = {{.event = 11, .relay = 0, .sent = 19s, .confirmed = 20s}};
  }
};

TEST_F(BanTest, ABannedEventGoes) {
  AskOther(1, 10s, {11, 12});
  AskOther(0, 50s, {12});
  ExpectSound();
  EXPECT_EQ(Check(history_, kPatience).confirmed_bans, 1U);
  AskOther(0, 50s, {});
  ExpectOnly(Violation::kLost);
}

TEST_F(BanTest, TheRelayThatConfirmsItHidesTheEventAtOnceAndOthersWithinThePatience) {
  AskOther(1, 29s, {11, 12});
  Send(11, 1, 29s, true);
  ExpectSound();
  AskOther(1, 31s, {11, 12});
  ExpectOnly(Violation::kUndone);
  AskOther(0, 21s, {11, 12});
  ExpectOnly(Violation::kUndone, 2);
  Send(11, 0, 21s, true);
  ExpectOnly(Violation::kUndone, 3);
}

TEST_F(BanTest, ABannedEventMustNotComeLive) {
  const size_t open = AskOther(1, 0s, {});
  history_.subscriptions[open].received = {{.event = 12, .at = 2s}, {.event = 11, .at = 39s}};
  ExpectSound();
  history_.subscriptions[open].received[1].at = 41s;
  ExpectOnly(Violation::kUndone);
  history_.subscriptions[open].slow = true;
  ExpectSound();
}

TEST_F(BanTest, ABannedEventMayBeSavedAnewWhereTheBanIsNotKnownYet) {
  const size_t open = AskOther(1, 0s, {});
  history_.subscriptions[open].received = {{.event = 12, .at = 2s}, {.event = 11, .at = 2s}, {.event = 11, .at = 21s}};
  ExpectSound();
  history_.subscriptions[open].received[2].at = 3s;
  ExpectOnly(Violation::kTwice);
}

TEST_F(BanTest, AllEventsOfABannedAuthorGo) {
  history_.bans[0].event.reset();
  history_.bans[0].author = kOther;
  const uint32_t later = Add(1);
  Send(later, 1, 22s, true);
  AskOther(0, 50s, {});
  ExpectSound();
  Send(later, 0, 50s, true);
  AskOther(1, 50s, {12});
  ExpectOnly(Violation::kUndone, 2);
}

TEST_F(BanTest, ABanThatWasNotConfirmedMayHold) {
  history_.bans[0].confirmed = kNever;
  AskOther(0, 50s, {11, 12});
  AskOther(1, 50s, {12});
  ExpectSound();
  EXPECT_EQ(Check(history_, kPatience).confirmed_bans, 0U);
}

TEST_F(CheckerRemovalTest, AnEventIsRequiredUntilItExpires) {
  AddExpiring();
  AskOther(1, 30s, {});
  ExpectSound();
  AskOther(1, 10s, {});
  ExpectOnly(Violation::kLost);
}

TEST_F(CheckerRemovalTest, AnEventMustComeLiveOnlyIfItLivesForThePatience) {
  const uint32_t event = AddExpiring();
  AskOther(1, 0s, {});
  ExpectOnly(Violation::kLost);
  history_.events[event].expires = 10s;
  ExpectSound();
}

TEST_F(CheckerRemovalTest, AnEventMustNotComeNorBeAcceptedOnceItHasExpired) {
  const uint32_t event = AddExpiring();
  AskOther(1, 20s, {event});
  ExpectSound();
  AskOther(1, 22s, {event});
  Send(event, 1, 22s, true);
  ExpectOnly(Violation::kUndone, 2);
}

TEST_F(CheckerRemovalTest, AnEventExpiresByTheClockOfTheRelayThatGivesIt) {
  const uint32_t event = AddExpiring();
  MoveClock(1, -600s, 15s, 40s);
  AskOther(1, 30s, {event});
  ExpectSound();
  AskOther(0, 30s, {event});
  ExpectOnly(Violation::kUndone);
  AskOther(1, 45s, {event});
  ExpectOnly(Violation::kUndone, 2);
}

TEST_F(CheckerRemovalTest, AnEventMayBeMissingAtARelayWhoseClockIsAhead) {
  AddExpiring();
  MoveClock(1, 600s, 0s, 5s);
  AskOther(1, 3s, {});
  ExpectSound();
  AskOther(0, 3s, {});
  ExpectOnly(Violation::kLost);
}

TEST_F(CheckerRemovalTest, RelaysNeedNotAgreeAboutEventsThatExpire) {
  const uint32_t event = AddExpiring();
  MoveClock(1, -600s, 15s, kNever);
  for (const int relay : {0, 1}) {
    const size_t answer = AskOther(relay, 50s, relay == 0 ? std::vector<uint32_t>{} : std::vector<uint32_t>{event});
    history_.subscriptions[answer].final = true;
  }
  ExpectSound();
}

TEST_F(CheckerRemovalTest, EphemeralEventsThatCrossTheBusAreCounted) {
  EXPECT_EQ(Check(history_, kPatience).crossed, 0U);
  Ask({.topic = kTopic}, 1, 21s, {0, 1, 6, 8}, {4});
  ExpectSound();
  EXPECT_EQ(Check(history_, kPatience).crossed, 1U);
}

}  // namespace
}  // namespace weir
