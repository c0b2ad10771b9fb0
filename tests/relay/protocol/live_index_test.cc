#include "relay/protocol/live_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/filter.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

Filter FilterOf(const std::string& json) {
  Result<Filter> filter = ParseFilter(json);
  EXPECT_TRUE(filter.ok()) << filter.status().message();
  return filter.ok() ? std::move(filter).value() : Filter();
}

// Makes notes with few values of everything, so that much matches.
class RandomNotes {
 public:
  explicit RandomNotes(uint64_t seed) : random_(seed) {
    for (uint64_t i = 0; i < 4; ++i) signers_.emplace_back(i);
  }
  uint64_t Below(uint64_t n) { return random_() % n; }
  Event AnEvent() {
    std::string tags;
    for (uint64_t n = Below(4); n > 0; --n) tags += (tags.empty() ? "" : ",") + ATag();
    const std::string json =
        signers_[Below(4)].SignedEvent(100 + Below(10), static_cast<uint16_t>(Below(4)), "[" + tags + "]", "");
    Event event = EventParser().Parse(json).value();
    ids_.push_back(ToHex(event.view().id()));
    return event;
  }
  std::vector<Filter> Filters() {
    std::vector<Filter> filters;
    for (uint64_t n = 1 + Below(3); n > 0; --n) filters.push_back(AFilter());
    return filters;
  }

 private:
  std::string ATag() {
    return "[\"" + std::string(1, "etT"[Below(3)]) + "\",\"" + std::string(1, "abc"[Below(3)]) + "\"]";
  }
  template <typename Value>
  std::string List(const Value& value) {
    std::set<std::string> values;
    for (uint64_t n = Below(4); n > 0; --n) values.insert(value());
    std::string list;
    for (const std::string& v : values) list += (list.empty() ? "" : ",") + v;
    return "[" + list + "]";
  }
  Filter AFilter() {
    std::vector<std::string> fields;
    if (!ids_.empty() && Below(4) == 0)
      fields.push_back("\"ids\":" + List([&] { return "\"" + ids_[Below(ids_.size())] + "\""; }));
    if (Below(3) == 0)
      fields.push_back("\"authors\":" + List([&] { return "\"" + ToHex(signers_[Below(4)].pubkey()) + "\""; }));
    if (Below(3) == 0) fields.push_back("\"kinds\":" + List([&] { return std::to_string(Below(4)); }));
    for (const char letter : {'t', 'T'})
      if (Below(4) == 0)
        fields.push_back("\"#" + std::string(1, letter) +
                         "\":" + List([&] { return "\"" + std::string(1, "abc"[Below(3)]) + "\""; }));
    if (Below(4) == 0) fields.push_back("\"since\":" + std::to_string(100 + Below(10)));
    if (Below(4) == 0) fields.push_back("\"limit\":0");
    std::string json;
    for (const std::string& field : fields) json += (json.empty() ? "" : ",") + field;
    return FilterOf("{" + json + "}");
  }

  std::mt19937_64 random_;
  std::vector<Signer> signers_;
  std::vector<std::string> ids_;
};

// Returns the subscriptions that a whole match finds, in steps of this much work.
std::multiset<void*> Found(LiveIndex& index, EventView event, Work step = UINT64_MAX) {
  std::vector<LiveIndex::Hit> hits;
  index.Begin(event);
  for (Work left = step; !index.Next(&left, &hits);) left = step;
  std::multiset<void*> found;
  for (const LiveIndex::Hit& hit : hits) found.insert(hit.subscriber);
  return found;
}

Work CostOfMatching(LiveIndex& index, EventView event) {
  std::vector<LiveIndex::Hit> hits;
  Work left = UINT64_MAX;
  index.Begin(event);
  EXPECT_TRUE(index.Next(&left, &hits));
  return UINT64_MAX - left;
}

// Returns a pointer that serves only to tell names apart.
void* Name(uint64_t number) {
  static char names[1 << 16];
  return &names[number];
}

TEST(LiveIndex, FindsWhatAskingEverySubscriptionFinds) {
  RandomNotes notes(5);
  LiveIndex index;
  struct Subscription {
    void* name;
    std::vector<Filter> filters;
  };
  std::map<LiveIndex::Key, Subscription> subscriptions;
  std::vector<Event> events;
  for (int i = 0; i < 100; ++i) events.push_back(notes.AnEvent());
  for (int step = 0; step < 3000; ++step) {
    if (notes.Below(3) > 0) {
      const std::vector<Filter> filters = notes.Filters();
      void* const name = Name(static_cast<uint64_t>(step));
      const LiveIndex::Key key = index.Add(filters, name);
      ASSERT_TRUE(subscriptions.emplace(key, Subscription{name, filters}).second) << "a key was used twice";
    } else if (!subscriptions.empty()) {
      const auto gone = std::next(subscriptions.begin(), static_cast<ptrdiff_t>(notes.Below(subscriptions.size())));
      index.Remove(gone->first);
      index.Remove(gone->first);
      subscriptions.erase(gone);
    }
    while (subscriptions.size() > 200) {
      index.Remove(subscriptions.begin()->first);
      subscriptions.erase(subscriptions.begin());
    }
    ASSERT_EQ(index.size(), subscriptions.size());
    const EventView event = events[notes.Below(events.size())].view();
    std::multiset<void*> expected;
    for (const auto& [key, s] : subscriptions)
      if (std::ranges::any_of(s.filters, [&](const Filter& f) { return f.Matches(event); })) expected.insert(s.name);
    ASSERT_EQ(Found(index, event, notes.Below(2) == 0 ? 1 + notes.Below(5000) : UINT64_MAX), expected)
        << "step " << step;
  }
}

TEST(LiveIndex, FindsEachSubscriberOnceUntilItIsRemoved) {
  LiveIndex index;
  index.Add({FilterOf(R"({"kinds":[1]})")}, Name(1));
  const LiveIndex::Key key = index.Add({FilterOf(R"({"kinds":[1]})"), FilterOf("{}")}, Name(2));
  const Event event = EventParser().Parse(Signer(1).SignedEvent(1, 1, "[]", "")).value();
  EXPECT_EQ(Found(index, event.view()), (std::multiset<void*>{Name(1), Name(2)})) << "each once, by whatever filters";
  index.Remove(key);
  EXPECT_EQ(Found(index, event.view()), std::multiset<void*>{Name(1)});
}

// A match stops after each entry, while others leave and enter.
TEST(LiveIndex, FindsASubscriberThatStaysOnceWhileOthersComeAndGo) {
  RandomNotes notes(6);
  uint64_t names = 0;
  for (int round = 0; round < 300; ++round) {
    LiveIndex index;
    std::vector<std::pair<LiveIndex::Key, void*>> stay;
    std::vector<LiveIndex::Key> leave;
    const auto enter = [&] {
      const std::vector<Filter> filters = {FilterOf(R"({"kinds":[1]})"), FilterOf(R"({"#t":["a","b"]})")};
      void* const name = Name(++names);
      const LiveIndex::Key key = index.Add(filters, name);
      if (notes.Below(2) == 0) {
        leave.push_back(key);
      } else {
        stay.emplace_back(key, name);
      }
    };
    for (uint64_t n = notes.Below(20); n > 0; --n) enter();
    std::set<void*> wanted;
    for (const auto& [key, name] : stay) wanted.insert(name);
    const Event event =
        EventParser().Parse(Signer(1).SignedEvent(5, 1, R"([["t","a"],["t","b"],["t","a"]])", "")).value();
    std::vector<LiveIndex::Hit> hits;
    index.Begin(event.view());
    for (Work left = 1; !index.Next(&left, &hits); left = 1) {
      if (!leave.empty() && notes.Below(2) == 0) {
        const size_t gone = notes.Below(leave.size());
        index.Remove(leave[gone]);
        leave.erase(leave.begin() + static_cast<ptrdiff_t>(gone));
      }
      if (notes.Below(3) == 0) enter();
    }
    std::multiset<void*> found;
    for (const LiveIndex::Hit& hit : hits) found.insert(hit.subscriber);
    for (void* const name : found) ASSERT_EQ(found.count(name), 1U);
    for (void* const name : wanted) ASSERT_EQ(found.count(name), 1U) << "round " << round;
  }
}

TEST(LiveIndex, TellsWhetherTheQueryAsksForTheEventToo) {
  LiveIndex index;
  index.Add({FilterOf(R"({"kinds":[1]})"), FilterOf(R"({"#t":["a"]})")}, Name(1), 1);
  index.Add({FilterOf(R"({"kinds":[2]})"), FilterOf(R"({"#t":["a"]})")}, Name(2), 1);
  index.Add({FilterOf(R"({"kinds":[1]})")}, Name(3), 0);
  index.Add({FilterOf(R"({"kinds":[1]})")}, Name(4));
  const Event event = EventParser().Parse(Signer(1).SignedEvent(5, 1, R"([["t","a"]])", "")).value();
  std::vector<LiveIndex::Hit> hits;
  Work left = UINT64_MAX;
  index.Begin(event.view());
  ASSERT_TRUE(index.Next(&left, &hits));
  std::map<void*, bool> by_query;
  for (const LiveIndex::Hit& hit : hits) by_query[hit.subscriber] = hit.by_query;
  EXPECT_EQ(by_query, (std::map<void*, bool>{{Name(1), true}, {Name(2), false}, {Name(3), false}, {Name(4), true}}));
}

TEST(LiveIndex, CostsWhatItLooksAtAndStopsWhenThatIsSpent) {
  LiveIndex index;
  const Event event = EventParser().Parse(Signer(1).SignedEvent(5, 1, R"([["t","a"]])", "")).value();
  EXPECT_EQ(CostOfMatching(index, event.view()), 0U);
  index.Add({FilterOf(R"({"kinds":[2]})"), FilterOf(R"({"#t":["b"]})")}, nullptr);
  const Work nothing = CostOfMatching(index, event.view());
  for (int i = 0; i < 1000; ++i) index.Add({FilterOf(R"({"kinds":[1],"since":9})")}, nullptr);
  const Work looked = CostOfMatching(index, event.view()) - nothing;
  EXPECT_GE(looked, 1000 * kFilterWork) << "what does not match costs, too";
  index.Add({FilterOf(R"({"kinds":[1]})")}, nullptr);
  EXPECT_GE(CostOfMatching(index, event.view()), nothing + looked + kDeliveryWork);
  std::vector<LiveIndex::Hit> hits;
  index.Begin(event.view());
  Work left = looked / 10;
  EXPECT_FALSE(index.Next(&left, &hits));
  EXPECT_EQ(left, 0U);
}

std::string Tags(char letter, size_t n) {
  std::string tags;
  for (size_t i = 0; i < n; ++i)
    tags += std::string(tags.empty() ? "" : ",") + "[\"" + letter + "\",\"" + std::to_string(i) + "\"]";
  return tags;
}

// 2,880 filters of 52 conditions that share all but the last stood in the thread's way for 0.7 s.
TEST(LiveIndex, AConditionCostsALookUpHoweverManyTagsTheEventHas) {
  std::string json;
  std::string shared;
  for (const char letter : std::string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdfghijklmnoqrstuvwxyz")) {
    json += (json.empty() ? "{\"#" : ",\"#") + std::string(1, letter) + "\":[\"" + (letter == 'z' ? "no" : "x") + "\"]";
    if (letter != 'z') shared += ",[\"" + std::string(1, letter) + "\",\"x\"]";
  }
  const Filter filter = FilterOf(json + "}");
  const std::vector<Filter> filters(20, filter);
  LiveIndex index;
  for (int i = 0; i < 10; ++i) index.Add(filters, nullptr);
  EventLimits limits;
  limits.max_tags = 5000;
  const auto event_with = [&](size_t tags) {
    return EventParser(limits).Parse(Signer(1).SignedEvent(5, 1, "[" + Tags('y', tags) + shared + "]", "")).value();
  };
  const Event few = event_with(1);
  const Event many = event_with(1900);
  const Work of_filters = 200 * (kFilterWork + 50 * kTagVisitWork);
  EXPECT_LE(CostOfMatching(index, few.view()), of_filters + 20'000);
  EXPECT_LE(CostOfMatching(index, many.view()), of_filters + Work{1900} * 100);
}

TEST(LiveIndex, AFilterIsLookedAtOnceHoweverManyOfItsValuesTheEventHas) {
  std::string values;
  for (int i = 0; i < 500; ++i) values += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\"";
  LiveIndex index;
  index.Add({FilterOf("{\"#t\":[" + values + "],\"#u\":[" + values + ",\"no\"]}")}, nullptr);
  const Event event = EventParser().Parse(Signer(1).SignedEvent(5, 1, "[" + Tags('t', 500) + "]", "")).value();
  EXPECT_LE(CostOfMatching(index, event.view()), kFilterWork + 500 * (100 + 3 * kTagVisitWork));
}

TEST(LiveIndex, ItsMostWorkBoundsWhatAnEventCosts) {
  RandomNotes notes(7);
  for (int round = 0; round < 300; ++round) {
    const Event event = notes.AnEvent();
    LiveIndex empty;
    empty.Add({FilterOf(R"({"ids":["0000000000000000000000000000000000000000000000000000000000000000"]})")}, nullptr);
    const Work alone = CostOfMatching(empty, event.view());
    LiveIndex index;
    Work most = alone;
    for (int n = 0; n < 5; ++n) {
      const std::vector<Filter> filters = notes.Filters();
      most += LiveIndex::MostWork(filters);
      index.Add(filters, nullptr);
    }
    ASSERT_LE(CostOfMatching(index, event.view()), most);
  }
}

}  // namespace
}  // namespace weir
