// The store against the model: whatever happens, the same outcomes, the same answers in the same order.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/store/history.h"

namespace weir {
namespace {

// WEIR_HISTORY_SEEDS=1000 for a long run.
uint64_t Seeds(uint64_t usual) {
  const char* seeds = std::getenv("WEIR_HISTORY_SEEDS");
  return seeds != nullptr ? std::strtoull(seeds, nullptr, 10) : usual;
}

TEST(StoreDifferential, RandomHistories) {
  constexpr int kSteps = 250;
  for (uint64_t seed = 1; seed <= Seeds(12); ++seed) {
    History history(seed, 600);
    for (int step = 0; step < kSteps; ++step) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
      history.Step(static_cast<double>(step) / kSteps);
      if (testing::Test::HasFatalFailure()) return;
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ", at the end");
    history.CompareAll();
    for (int n = 0; n < 100; ++n) history.Ask();
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Queries that are under way while much changes answer as of the moment they were made.
TEST(StoreDifferential, QueriesSeeTheMomentTheyWereMade) {
  struct Open {
    std::vector<Filter> filters;
    ModelQuery model_query;
    std::unique_ptr<Query> query;
    ModelAnswer expected;
    std::vector<std::string> ids;
    uint64_t last_serial;
  };
  for (uint64_t seed = 1; seed <= Seeds(5); ++seed) {
    History history(seed, 600);
    for (int round = 0; round < 10; ++round) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
      std::vector<Open> opened(8);
      for (Open& o : opened) {
        o.filters = history.nostr().Filters();
        o.model_query = history.AnyQuery();
        o.query = history.store().Find(o.filters, History::ForStore(o.model_query));
        o.expected = history.model().Find(o.filters, o.model_query);
        o.last_serial = history.store().Sizes().last_serial;
      }
      for (int n = 0; n < 10; ++n) {
        history.Save((round + n / 10.0) / 11);
        if (n % 3 == 0) history.Delete(round / 11.0);
        if (n % 5 == 0) history.Sweep();
        if (testing::Test::HasFatalFailure()) return;
        for (Open& o : opened) {
          const auto progress = o.query->Next({.max_visits = 3, .max_bytes = 1000},
                                              [&](EventView event) { o.ids.push_back(ToHex(event.id())); });
          ASSERT_TRUE(progress.ok()) << progress.status().message();
        }
      }
      for (Open& o : opened) {
        for (std::string& id : Drain(*o.query)) o.ids.push_back(std::move(id));
        ASSERT_TRUE(SameIds(o.ids, o.expected.ids)) << History::Describe(o.filters, o.model_query);
        ASSERT_EQ(o.query->complete(), o.expected.complete) << History::Describe(o.filters, o.model_query);
        ASSERT_EQ(o.query->last_serial(), o.last_serial);
      }
      opened.clear();
      history.Reopen();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// A second in which more happened than any slice or limit holds.
TEST(StoreDifferential, ManyEventsOfOneSecond) {
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  ASSERT_NE(store, nullptr);
  ModelStore model;
  std::vector<PlainEvent> events;
  for (int i = 0; i < 3000; ++i) {
    events.push_back(Plain(Author(i % 3), 1000 + (i % 50 == 0 ? 1 : 0), 1 + i % 2 * 6, {{"t", i % 5 == 0 ? "a" : "b"}},
                           std::to_string(i)));
    model.Save(events.back(), 0);
  }
  SaveAll(*store, events);
  Filter all;
  Filter tagged{.authors = {{ToBytes(Author(0)), ToBytes(Author(1))}}, .tags = {{'t', {"a", "b"}}}, .limit = 1000};
  std::ranges::sort(*tagged.authors);
  const Filter second{.kinds = {{1, 7}}, .since = 1000, .until = 1000, .limit = 77};
  for (const std::vector<Filter>& filters : {std::vector{all}, {tagged}, {second}, {all, tagged, second}}) {
    for (const Slice& slice : {Slice{.max_visits = 1}, Slice{.max_visits = 97}, Slice{.max_bytes = 1}, Slice{}}) {
      ModelQuery query{.default_limit = 2500};
      const auto found = store->Find(filters, History::ForStore(query));
      EXPECT_TRUE(SameIds(Drain(*found, slice), model.Find(filters, query).ids)) << History::Describe(filters, query);
    }
  }
}

// The index knows the first four bytes of an id; the order is that of the whole ids. Found by trying 1.5 million.
TEST(StoreDifferential, IdsThatBeginTheSame) {
  constexpr std::pair<int, int> kTwins[] = {{51765, 68319}, {7887, 74632}, {22786, 112947}, {151310, 191090}};
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  ASSERT_NE(store, nullptr);
  ModelStore model;
  const auto note = [](int number) { return Plain(Author(1), 1000, 1, {{"t", "twin"}}, std::to_string(number)); };
  std::vector<EventId> ids;
  for (const auto& [a, b] : kTwins) {
    ASSERT_EQ(note(a).id.substr(0, 8), note(b).id.substr(0, 8));
    for (const int number : {a, b}) {
      model.Save(note(number), 0);
      SaveAll(*store, {note(number)});
      ids.push_back(ToBytes(note(number).id));
    }
  }
  std::ranges::sort(ids);
  const std::vector<PublicKey> authors = {ToBytes(Author(1))};
  for (uint64_t limit = 1; limit <= 8; ++limit) {
    for (const Filter& filter :
         {Filter{.limit = limit}, Filter{.ids = ids, .limit = limit}, Filter{.authors = authors, .limit = limit},
          Filter{.kinds = {{1}}, .limit = limit}, Filter{.tags = {{'t', {"twin"}}}, .limit = limit}}) {
      for (const uint32_t visits : {1, 2, 3, 1000}) {
        const auto found = store->Find({filter, Filter{.kinds = {{1}}, .limit = 1}}, {});
        const ModelAnswer expected = model.Find({filter, Filter{.kinds = {{1}}, .limit = 1}}, {});
        EXPECT_TRUE(SameIds(Drain(*found, {.max_visits = visits}), expected.ids)) << ToJson(filter);
        EXPECT_EQ(found->complete(), expected.complete) << ToJson(filter);
      }
    }
  }
}

TEST(StoreDifferential, ASliceIsKeptTo) {
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  ASSERT_NE(store, nullptr);
  std::vector<PlainEvent> events;
  for (int i = 0; i < 2000; ++i)
    events.push_back(Plain(Author(i % 2), i, 1, {{"t", "a"}, {"p", Author(i % 7)}}, std::string(500, 'x')));
  SaveAll(*store, events);
  // Matches are rare: most of what is visited is not handed out.
  const Filter rare{.tags = {{'p', {Author(3)}}, {'t', {"a"}}}, .since = 100};
  for (const Filter& filter : {rare, Filter{}}) {
    const auto query = store->Find({filter}, {.default_limit = 5000});
    size_t calls = 0;
    for (Progress progress = Progress::kMore; progress == Progress::kMore; ++calls) {
      const uint64_t visits_before = query->visits();
      uint64_t bytes = 0;
      progress =
          query->Next({.max_visits = 50, .max_bytes = 2000}, [&](EventView event) { bytes += event.json().size(); })
              .value();
      EXPECT_LE(query->visits() - visits_before, 100U);
      EXPECT_LE(bytes, 2000U + 1500U);
    }
    EXPECT_GT(calls, 5U);
  }
}

}  // namespace
}  // namespace weir
