// The new events of a relay that a link has to send: their order, and the bound of those that wait.
#include "import/links/own_events.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "relay/protocol/event_pipeline.h"
#include "tests/fixtures/plain_event.h"

namespace weir {
namespace {

const OwnEvents::Wants kAll = [](EventView) { return true; };

class OwnEventsTest : public testing::Test {
 protected:
  void Deliver(const std::vector<Event>& events) {
    auto batch = std::make_shared<LiveBatch>(budget_);
    for (const Event& event : events) batch->events.push_back({event, {}, {}});
    delivery_.Deliver({}, std::move(batch));
  }
  static Event At(uint64_t created_at) { return ToEvent(Plain(Author(1), created_at, 1)); }
  static std::vector<uint64_t> Dates(const std::vector<Event>& events) {
    std::vector<uint64_t> dates;
    for (const Event& event : events) dates.push_back(event.view().created_at());
    return dates;
  }

  boost::asio::io_context io_;
  RelayCounters counters_;
  ByteBudget budget_{1 << 20};
  Delivery delivery_{counters_, Clock::System(), WallClock::System(), {io_.get_executor()}};
};

TEST_F(OwnEventsTest, ReturnsWhatWasDeliveredSinceInOrder) {
  Deliver({At(1)});
  EXPECT_FALSE(delivery_.HasSubscribers());
  OwnEvents own(delivery_, kAll);
  EXPECT_TRUE(delivery_.HasSubscribers());
  Deliver({At(2), At(3)});
  Deliver({At(4)});
  EXPECT_EQ(Dates(own.Take()), (std::vector<uint64_t>{2, 3, 4}));
  EXPECT_TRUE(own.Take().empty());
  EXPECT_EQ(own.TakeLeftOut(), 0U);
}

TEST_F(OwnEventsTest, LeavesOutEventsBeyondItsBoundAndCountsThem) {
  OwnEvents own(delivery_, kAll);
  const std::vector<Event> batch(1000, At(1));
  size_t delivered = 0;
  for (; delivered <= OwnEvents::kMostEvents; delivered += batch.size()) Deliver(batch);
  const std::vector<Event> taken = own.Take();
  EXPECT_LE(taken.size(), OwnEvents::kMostEvents);
  EXPECT_GT(taken.size(), batch.size());
  EXPECT_LE(taken.size() * batch[0].record()->size(), OwnEvents::kMostBytes);
  EXPECT_EQ(own.TakeLeftOut() + taken.size(), delivered);
  EXPECT_EQ(own.TakeLeftOut(), 0U);
  Deliver({At(7)});
  EXPECT_EQ(Dates(own.Take()), (std::vector<uint64_t>{7})) << "it goes on";
}

TEST_F(OwnEventsTest, HoldsOnlyWhatTheLinkWants) {
  OwnEvents own(delivery_, [](EventView event) { return event.created_at() > 1; });
  Deliver({At(1), At(2)});
  delivery_.TellWatchers(std::vector<LiveEvent>{{At(3), {}, {}}});
  EXPECT_EQ(Dates(own.Take()), (std::vector<uint64_t>{2, 3}));
}

TEST_F(OwnEventsTest, EndsWithTheObject) {
  { const OwnEvents own(delivery_, kAll); }
  EXPECT_FALSE(delivery_.HasSubscribers());
  Deliver({At(1)});
}

}  // namespace
}  // namespace weir
