#include "import/sync/page_walk.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "relay/nostr/messages.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

EventPlace PlaceOf(EventView event) { return {.created_at = event.created_at(), .id = event.id()}; }

void SortNewestFirst(std::vector<Event>* events) {
  std::ranges::sort(*events, [](const Event& a, const Event& b) { return PlaceOf(a.view()) < PlaceOf(b.view()); });
}

// A relay that answers REQs from a list of events, with a limit of its own. There are relays that leave the events at
// the date `until` out.
class PagedRelay {
 public:
  PagedRelay(std::vector<Event> events, size_t limit, bool until_excludes = false)
      : events_(std::move(events)), limit_(limit), until_excludes_(until_excludes) {
    SortNewestFirst(&events_);
  }
  std::vector<std::string> Answer(const Req& request) const {
    std::vector<std::string> messages;
    const Filter& filter = request.filters[0];
    for (const Event& event : events_) {
      if (messages.size() == std::min<size_t>(limit_, filter.limit.value_or(limit_))) break;
      if (filter.Matches(event.view()) && !(until_excludes_ && event.view().created_at() == filter.until))
        messages.push_back(EventMessageHead(request.subscription) + std::string(event.view().json()) + "]");
    }
    messages.push_back(EoseMessage(request.subscription));
    return messages;
  }

 private:
  std::vector<Event> events_;
  const size_t limit_;
  const bool until_excludes_;
};

// Walks to the end. Returns the JSON of the events that the set lacks, in their order.
std::vector<std::string> Walk(PageWalk& walk, const PagedRelay& relay) {
  std::vector<std::string> taken;
  std::vector<std::string> asked;
  const PageWalk::Say say = [&](std::string_view message) {
    asked.emplace_back(message);
    return Status();
  };
  const PageWalk::Take take = [&](std::string_view json) {
    taken.emplace_back(json);
    return Status();
  };
  EXPECT_TRUE(walk.Begin(say).ok());
  for (size_t n = 0; n < asked.size(); ++n) {
    // A filter without a condition is answered by nothing by some relays.
    EXPECT_TRUE(!asked[n].starts_with("[\"REQ\"") || asked[n].find("\"since\":") != std::string::npos) << asked[n];
    const ClientMessage message = ParseClientMessage(asked[n]);
    const auto* const request = std::get_if<Req>(&message);
    if (request == nullptr) continue;
    for (const std::string& answer : relay.Answer(*request)) {
      const Result<RelayMessage> parsed = ParseRelayMessage(answer);
      EXPECT_TRUE(walk.OnMessage(parsed.value(), say, take).value());
    }
  }
  EXPECT_TRUE(walk.is_done());
  return taken;
}

SyncSet SetOf(std::vector<Event> events) {
  SortNewestFirst(&events);
  SyncSet set;
  for (const Event& event : events) set.Add({event.view().created_at(), event.view().id()});
  set.Seal();
  return set;
}

RC_GTEST_PROP(PageWalkProperty, FindsWhatEachSideLacks, ()) {
  const auto limit = *rc::gen::inRange<size_t>(3, 12);
  std::vector<Event> there, here;
  std::set<std::string> only_there;
  std::set<EventId> only_here;
  // Fewer events of one second than the relay's limit, so that a page can pass it.
  const size_t seconds = *rc::gen::inRange<size_t>(0, 20);
  for (size_t second = 0; second < seconds; ++second) {
    const size_t count = *rc::gen::inRange<size_t>(0, limit);
    for (size_t n = 0; n < count; ++n) {
      const Event event = ToEvent(Plain(Author(n), 1000 + second, 1));
      const int side = *rc::gen::inRange(0, 3);
      if (side != 0) there.push_back(event);
      if (side != 1) here.push_back(event);
      if (side == 1) only_there.insert(std::string(event.view().json()));
      if (side == 0) only_here.insert(event.view().id());
    }
  }
  const SyncSet set = SetOf(here);
  PageWalk walk(set, Filter{}, {});
  const std::vector<std::string> taken = Walk(walk, PagedRelay(there, limit, *rc::gen::arbitrary<bool>()));
  RC_ASSERT(std::set<std::string>(taken.begin(), taken.end()) == only_there);
  RC_ASSERT(taken.size() == only_there.size());
  const std::vector<EventId> unseen = walk.Unseen();
  RC_ASSERT(std::set<EventId>(unseen.begin(), unseen.end()) == only_here);
}

TEST(PageWalkTest, CountsASecondWithMoreEventsThanAPage) {
  std::vector<Event> there;
  for (uint64_t n = 0; n < PageWalk::kEventsOfPage + 100; ++n) there.push_back(ToEvent(Plain(Author(n), 1000, 1)));
  there.push_back(ToEvent(Plain(Author(1), 900, 1)));
  const SyncSet none = SetOf({});
  PageWalk walk(none, Filter{}, {});
  EXPECT_EQ(Walk(walk, PagedRelay(there, 10'000)).size(), PageWalk::kEventsOfPage + 1);
  EXPECT_EQ(walk.cut_seconds(), 1U);
}

TEST(PageWalkTest, CountsASecondThatALowerLimitOfTheRelayCuts) {
  std::vector<Event> there;
  for (uint64_t n = 0; n < 150; ++n) there.push_back(ToEvent(Plain(Author(n), 1000, 1)));
  for (uint64_t n = 0; n < 150; ++n) there.push_back(ToEvent(Plain(Author(n), 900 - n, 1)));
  const SyncSet none = SetOf({});
  PageWalk walk(none, Filter{}, {});
  EXPECT_EQ(Walk(walk, PagedRelay(there, 100)).size(), 250U);
  EXPECT_EQ(walk.cut_seconds(), 1U);
}

TEST(PageWalkTest, EndsWithAnErrorAtARelayThatIgnoresTheFilter) {
  const SyncSet none = SetOf({});
  PageWalk walk(none, ParseFilter(R"({"kinds":[1]})").value(), {});
  const Event event = ToEvent(Plain(Author(1), 1000, 1));
  const Event other = ToEvent(Plain(Author(1), 1000, 7));
  size_t taken = 0;
  const PageWalk::Say say = [](std::string_view) { return Status(); };
  const PageWalk::Take take = [&](std::string_view) {
    ++taken;
    return Status();
  };
  ASSERT_TRUE(walk.Begin(say).ok());
  Status status;
  for (int page = 1; status.ok() && page < 10; ++page) {
    const std::string name = "page-" + std::to_string(page);
    for (const Event& given : {event, other}) {
      const RelayMessage message{.kind = RelayMessage::Kind::kEvent, .subject = name, .event = given.view().json()};
      ASSERT_TRUE(walk.OnMessage(message, say, take).ok());
    }
    status = walk.OnMessage({.kind = RelayMessage::Kind::kEose, .subject = name}, say, take).status();
  }
  EXPECT_EQ(taken, 1U);
  EXPECT_NE(status.message().find("gives no pages"), std::string::npos) << status.message();
}

TEST(PageWalkTest, EndsWithTheReasonOfTheRelay) {
  const SyncSet none = SetOf({});
  PageWalk walk(none, Filter{}, {});
  const PageWalk::Say say = [](std::string_view) { return Status(); };
  ASSERT_TRUE(walk.Begin(say).ok());
  const Result<bool> heard = walk.OnMessage(
      {.kind = RelayMessage::Kind::kClosed, .subject = "page-1", .text = "auth-required: members"}, say, {});
  EXPECT_EQ(heard.status().message(), "the relay refuses to be read: auth-required: members");
}

}  // namespace
}  // namespace weir
