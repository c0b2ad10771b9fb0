#include "import/sync/event_offer.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "config/manual_clock.h"
#include "config/text/hex.h"
#include "relay/nostr/event_parser.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

class EventOfferTest : public testing::Test {
 protected:
  void SendMore() { EXPECT_TRUE(offer_.SendMore(say_).ok()); }
  Event Stored(uint64_t number) {
    Event event = ToEvent(Plain(Author(1), 1000 + number, 1));
    stored_.push_back(event);
    return event;
  }
  bool Answer(const EventId& id, bool accepted, const std::string& text = "") {
    return offer_.OnMessage(
        {.kind = RelayMessage::Kind::kOk, .subject = ToHex(id), .accepted = accepted, .text = text});
  }

  ManualClock clock_;
  std::vector<Event> stored_;
  std::vector<std::string> said_;
  const EventOffer::Say say_ = [this](std::string_view message) {
    said_.emplace_back(message);
    return Status();
  };
  EventOffer offer_{[this](std::span<const EventId> ids, const std::function<void(EventView event)>& take) {
                      const std::set<EventId> wanted(ids.begin(), ids.end());
                      for (const Event& event : stored_)
                        if (wanted.contains(event.view().id())) take(event.view());
                      return Status();
                    },
                    {.most_event_bytes = 10'000},
                    clock_};
};

TEST_F(EventOfferTest, SendsStoredEventsAndCountsTheAnswersByReason) {
  const std::vector<Event> events{Stored(1), Stored(2), Stored(3)};
  for (const Event& event : events) offer_.Offer(event.view().id());
  SendMore();
  ASSERT_EQ(said_.size(), 3U);
  EXPECT_EQ(said_[0], "[\"EVENT\"," + std::string(events[0].view().json()) + "]");
  EXPECT_TRUE(Answer(events[0].view().id(), true));
  EXPECT_TRUE(Answer(events[1].view().id(), false, "blocked: no"));
  EXPECT_FALSE(offer_.is_idle());
  EXPECT_TRUE(Answer(events[2].view().id(), false, "blocked: no"));
  EXPECT_FALSE(Answer(events[2].view().id(), false, "blocked: no")) << "a second answer";
  EXPECT_TRUE(offer_.is_idle());
  EXPECT_EQ(offer_.accepted(), 1U);
  EXPECT_EQ(offer_.refused().counts(), (std::map<std::string, uint64_t>{{"blocked: no", 2}}));
}

TEST_F(EventOfferTest, CountsEventsThatAreStoredNoMore) {
  const Event kept = Stored(1);
  offer_.Offer(kept.view().id());
  offer_.Offer(EventId{7});
  SendMore();
  EXPECT_EQ(said_.size(), 1U);
  EXPECT_EQ(offer_.gone(), 1U);
  EXPECT_TRUE(Answer(kept.view().id(), true));
  EXPECT_TRUE(offer_.is_idle());
}

TEST_F(EventOfferTest, SendsAgainLaterWhatWasTooFast) {
  const Event event = Stored(1);
  offer_.Offer(event.view().id());
  for (int n = 1; n < EventOffer::kMostTries; ++n) {
    SendMore();
    EXPECT_EQ(said_.size(), static_cast<size_t>(n));
    EXPECT_TRUE(Answer(event.view().id(), false, "rate-limited: slow down"));
    SendMore();
    EXPECT_EQ(said_.size(), static_cast<size_t>(n)) << "it waits";
    clock_.Advance(EventOffer::kLongestPause);
  }
  SendMore();
  EXPECT_TRUE(Answer(event.view().id(), false, "rate-limited: slow down"));
  EXPECT_TRUE(offer_.is_idle());
  EXPECT_EQ(offer_.refused().counts().at("rate-limited: slow down"), 1U);
}

TEST_F(EventOfferTest, SendsFewerAtATimeToARelayThatTakesFew) {
  for (uint64_t n = 0; n < 1000; ++n) offer_.Offer(Stored(n).view().id());
  // The relay takes ten of those that come together.
  size_t answered = 0;
  for (int round = 0; round < 2000 && !offer_.is_idle(); ++round) {
    SendMore();
    const std::vector<std::string> sent(said_.begin() + static_cast<ptrdiff_t>(answered), said_.end());
    answered = said_.size();
    size_t taken = 0;
    for (const std::string& text : sent) {
      EventId id{};
      ASSERT_TRUE(FromHex(FindId(std::string_view(text).substr(9)), id.data(), id.size()));
      const bool is_taken = ++taken <= 10;
      EXPECT_TRUE(Answer(id, is_taken, is_taken ? "" : "rate-limited: slow down"));
    }
    clock_.Advance(EventOffer::kLongestPause);
  }
  EXPECT_EQ(offer_.accepted(), 1000U);
  EXPECT_TRUE(offer_.refused().counts().empty());
}

TEST_F(EventOfferTest, KeepsPrivateEventsAndThoseThatAreTooLong) {
  for (const PlainEvent& event : {Plain(Author(1), 1, 1059), Plain(Author(1), 2, 4), Plain(Author(1), 3, 1),
                                  Plain(Author(1), 4, 1, {}, std::string(20'000, 'x'))}) {
    stored_.push_back(ToEvent(event));
    offer_.Offer(stored_.back().view().id());
  }
  SendMore();
  EXPECT_EQ(said_.size(), 1U);
  EXPECT_EQ(offer_.withheld(), 2U);
  EXPECT_EQ(offer_.refused().counts().at("it is longer than the relay takes"), 1U);
  EXPECT_TRUE(Answer(stored_[2].view().id(), true));
  EXPECT_TRUE(offer_.is_idle());
}

TEST_F(EventOfferTest, BoundsWhatHasNoAnswer) {
  for (uint64_t n = 0; n < EventOffer::kMostUnanswered + 10; ++n) offer_.Offer(Stored(n).view().id());
  SendMore();
  EXPECT_EQ(said_.size(), EventOffer::kMostUnanswered);
  EXPECT_TRUE(Answer(stored_[0].view().id(), true));
  SendMore();
  EXPECT_EQ(said_.size(), EventOffer::kMostUnanswered + 1);
}

TEST_F(EventOfferTest, BoundsTheReasonsThatItCounts) {
  for (uint64_t n = 0; n < 250; ++n) offer_.Offer(Stored(n).view().id());
  SendMore();
  for (uint64_t n = 0; n < 250; ++n) EXPECT_TRUE(Answer(stored_[n].view().id(), false, "error: " + std::to_string(n)));
  EXPECT_EQ(offer_.refused().counts().size(), ReasonCounts::kMost + 1);
  EXPECT_EQ(offer_.refused().counts().at("other reasons"), 250 - ReasonCounts::kMost);
}

}  // namespace
}  // namespace weir
