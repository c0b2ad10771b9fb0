#include "import/sync/event_fetch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/manual_clock.h"
#include "config/text/hex.h"

namespace weir {
namespace {

EventId IdOf(uint8_t number) {
  EventId id{};
  id[0] = number;
  return id;
}

class EventFetchTest : public testing::Test {
 protected:
  void WantFrom(int first, int last) {
    for (int n = first; n < last; ++n) fetch_.Want(IdOf(static_cast<uint8_t>(n)));
  }
  void WantNumber(size_t n) {
    EventId id{};
    id[0] = static_cast<uint8_t>(n);
    id[1] = static_cast<uint8_t>(n >> 8);
    fetch_.Want(id);
  }
  void AskMore() { EXPECT_TRUE(fetch_.AskMore(say_).ok()); }
  Result<bool> Hear(RelayMessage::Kind kind, const std::string& subject, const std::string& event = "",
                    const std::string& text = "") {
    return fetch_.OnMessage({.kind = kind, .subject = subject, .event = event, .text = text}, say_, take_);
  }
  bool HearEvent(const std::string& subject, int number) {
    return Hear(RelayMessage::Kind::kEvent, subject, EventOf(number)).value();
  }
  static std::string EventOf(int number) { return "{\"id\":\"" + ToHex(IdOf(static_cast<uint8_t>(number))) + "\"}"; }

  std::vector<std::string> said_;
  std::vector<std::string> taken_;
  const EventFetch::Say say_ = [this](std::string_view message) {
    said_.emplace_back(message);
    return Status();
  };
  const EventFetch::Take take_ = [this](std::string_view json) {
    taken_.emplace_back(json);
    return Status();
  };
  ManualClock clock_;
  EventFetch fetch_{clock_};
};

TEST_F(EventFetchTest, PassesOnWhatItAskedForAndNothingElse) {
  WantFrom(1, 3);
  AskMore();
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_TRUE(HearEvent("fetch-1", 1));
  EXPECT_TRUE(HearEvent("fetch-1", 1)) << "twice";
  EXPECT_TRUE(HearEvent("fetch-1", 9)) << "not asked for";
  EXPECT_FALSE(HearEvent("other", 2)) << "of another subscription";
  EXPECT_TRUE(HearEvent("fetch-1", 2));
  EXPECT_FALSE(fetch_.is_idle());
  EXPECT_TRUE(Hear(RelayMessage::Kind::kEose, "fetch-1").value());
  EXPECT_EQ(taken_, (std::vector{EventOf(1), EventOf(2)}));
  EXPECT_EQ(said_.back(), R"(["CLOSE","fetch-1"])");
  EXPECT_TRUE(fetch_.is_idle());
  EXPECT_EQ(taken_.size(), 2U);
  EXPECT_EQ(fetch_.missing(), 0U);
}

TEST_F(EventFetchTest, AsksAgainForWhatALowerLimitLeftOut) {
  WantFrom(1, 4);
  AskMore();
  HearEvent("fetch-1", 1);
  Hear(RelayMessage::Kind::kEose, "fetch-1").value();
  AskMore();
  HearEvent("fetch-2", 2);
  Hear(RelayMessage::Kind::kEose, "fetch-2").value();
  AskMore();
  Hear(RelayMessage::Kind::kEose, "fetch-3").value();
  AskMore();
  EXPECT_TRUE(fetch_.is_idle());
  EXPECT_EQ(taken_.size(), 2U);
  EXPECT_EQ(fetch_.missing(), 1U) << "the relay has the third no more";
}

TEST_F(EventFetchTest, BoundsWhatIsUnderWay) {
  for (size_t n = 0; n < 3 * EventFetch::kMostRequests * EventFetch::kIdsOfRequest; ++n) WantNumber(n);
  AskMore();
  EXPECT_EQ(said_.size(), EventFetch::kMostRequests);
  EXPECT_EQ(fetch_.waiting(), 2 * EventFetch::kMostRequests * EventFetch::kIdsOfRequest);
}

TEST_F(EventFetchTest, AsksAgainLaterAndForLessAtOnceWhenARequestIsClosed) {
  for (size_t n = 0; n < EventFetch::kMostRequests * EventFetch::kIdsOfRequest; ++n) WantNumber(n);
  AskMore();
  EXPECT_TRUE(Hear(RelayMessage::Kind::kClosed, "fetch-1", "", "error: too many subscriptions").value());
  AskMore();
  EXPECT_EQ(said_.size(), EventFetch::kMostRequests) << "it waits";
  clock_.Advance(EventFetch::kPause);
  AskMore();
  EXPECT_EQ(said_.size(), EventFetch::kMostRequests) << "seven are under way, and it may have four now";
  EXPECT_EQ(fetch_.waiting(), EventFetch::kIdsOfRequest);
  EXPECT_EQ(fetch_.missing(), 0U);
}

TEST_F(EventFetchTest, EndsWithTheReasonOfARelayThatGivesNothing) {
  WantFrom(1, 3);
  for (int n = 1; n < EventFetch::kMostRefusals; ++n) {
    AskMore();
    EXPECT_TRUE(Hear(RelayMessage::Kind::kClosed, "fetch-" + std::to_string(n), "", "rate-limited: no").value());
    clock_.Advance(EventFetch::kPause);
  }
  AskMore();
  const Result<bool> heard = Hear(RelayMessage::Kind::kClosed, "fetch-6", "", "rate-limited: no");
  EXPECT_EQ(heard.status().message(), "the relay does not give its events: rate-limited: no");
}

TEST_F(EventFetchTest, EndsAtOnceIfTheRelayWantsAuthentication) {
  WantFrom(1, 3);
  AskMore();
  EXPECT_FALSE(Hear(RelayMessage::Kind::kClosed, "fetch-1", "", "auth-required: members only").ok());
}

}  // namespace
}  // namespace weir
