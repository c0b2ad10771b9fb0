#include "relay/live_index.h"

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

// Few of everything, so that much matches.
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

TEST(LiveIndex, FindsWhatAskingEverySubscriptionFinds) {
  RandomNotes notes(5);
  LiveIndex index;
  std::map<LiveIndex::Key, std::vector<Filter>> subscriptions;
  std::vector<Event> events;
  for (int i = 0; i < 100; ++i) events.push_back(notes.AnEvent());
  for (int step = 0; step < 3000; ++step) {
    if (notes.Below(3) > 0) {
      const std::vector<Filter> filters = notes.Filters();
      const LiveIndex::Key key = index.Add(filters, nullptr);
      ASSERT_TRUE(subscriptions.emplace(key, filters).second) << "a key was used twice";
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
    std::vector<LiveIndex::Key> found;
    index.Match(event, [&](LiveIndex::Key key, void*) { found.push_back(key); });
    std::ranges::sort(found);
    std::vector<LiveIndex::Key> expected;
    for (const auto& [key, filters] : subscriptions)
      if (std::ranges::any_of(filters, [&](const Filter& f) { return f.Matches(event); })) expected.push_back(key);
    ASSERT_EQ(found, expected) << "step " << step;
  }
}

TEST(LiveIndex, HandsBackWhoSubscribed) {
  LiveIndex index;
  int one = 0;
  int two = 0;
  index.Add({FilterOf(R"({"kinds":[1]})")}, &one);
  const LiveIndex::Key key = index.Add({FilterOf(R"({"kinds":[1]})"), FilterOf("{}")}, &two);
  const Event event = EventParser().Parse(Signer(1).SignedEvent(1, 1, "[]", "")).value();
  std::multiset<void*> told;
  index.Match(event.view(), [&](LiveIndex::Key, void* subscriber) { told.insert(subscriber); });
  EXPECT_EQ(told, (std::multiset<void*>{&one, &two})) << "each once, whatever number of its filters match";
  index.Remove(key);
  told.clear();
  index.Match(event.view(), [&](LiveIndex::Key, void* subscriber) { told.insert(subscriber); });
  EXPECT_EQ(told, std::multiset<void*>{&one});
}

TEST(LiveIndex, TellsHowManyFiltersItLookedAt) {
  LiveIndex index;
  const auto ignore = [](LiveIndex::Key, void*) {};
  const Event event = EventParser().Parse(Signer(1).SignedEvent(5, 1, R"([["t","a"]])", "")).value();
  EXPECT_EQ(index.Match(event.view(), ignore), 0U);
  index.Add({FilterOf(R"({"kinds":[2]})"), FilterOf(R"({"#t":["b"]})")}, nullptr);
  EXPECT_EQ(index.Match(event.view(), ignore), 0U);
  const LiveIndex::Key key = index.Add({FilterOf(R"({"kinds":[1],"since":9})"), FilterOf(R"({"kinds":[1],"since":8})"),
                                        FilterOf(R"({"kinds":[1],"since":7})")},
                                       nullptr);
  EXPECT_EQ(index.Match(event.view(), ignore), 3U) << "what does not match costs as much";
  index.Add({FilterOf(R"({"kinds":[1]})"), FilterOf(R"({"kinds":[1],"until":9})")}, nullptr);
  EXPECT_EQ(index.Match(event.view(), ignore), 4U) << "one that matches is enough";
  index.Remove(key);
  EXPECT_EQ(index.Match(event.view(), ignore), 1U);
}

}  // namespace
}  // namespace weir
