// Events of many authors are looked for among the events of all if that is less work, and author by author if these
// write little.
#include <gtest/gtest.h>

#include <random>

#include "tests/fixtures/model_store.h"
#include "tests/relay/store/history.h"
#include "tests/relay/store/rounds.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

// The events have few moments, so that many share one; some authors write much.
std::vector<PlainEvent> Written(std::mt19937_64& random, size_t count, uint64_t authors) {
  std::vector<PlainEvent> events;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t author = std::min(random() % authors, random() % authors);
    const auto kind = static_cast<uint16_t>(std::vector{1, 1, 1, 7, 6, 0, 30023}[random() % 7]);
    std::vector<Tag> tags;
    if (kind == 30023) tags.push_back({"d", std::to_string(random() % 3)});
    events.push_back(Plain(Author(author), 1000 + random() % (count / 4), kind, tags, std::to_string(i)));
  }
  return events;
}

std::vector<PublicKey> Authors(uint64_t first, uint64_t end) {
  std::vector<PublicKey> authors;
  for (uint64_t i = first; i < end; ++i) authors.push_back(ToBytes(Author(i)));
  std::ranges::sort(authors);
  return authors;
}

Filter AnyFilter(std::mt19937_64& random, uint64_t authors, uint64_t moments) {
  Filter filter;
  const uint64_t first = random() % authors;
  filter.authors = Authors(first, std::min(authors, first + 4 + random() % 40));
  if (random() % 3 == 0) filter.kinds = {{1}};
  if (random() % 3 == 0) filter.kinds = {{1, 6, 7}};
  if (random() % 2 == 0) filter.since = 1000 + random() % moments;
  if (random() % 3 == 0) filter.until = 1000 + random() % moments;
  if (random() % 4 != 0) filter.limit = 1 + random() % 60;
  return filter;
}

TEST(ManyAuthorsProperty, AnswersAreThoseOfAPlainListOfEvents) {
  constexpr uint64_t kAuthors = 60;
  constexpr size_t kEvents = 1200;
  const uint64_t seeds = RoundsBy("WEIR_HISTORY_SEEDS", 4);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    std::mt19937_64 random(seed);
    const TempDirectory directory;
    const auto store = MustOpen(SmallStore(directory / "events"));
    ModelStore model;
    const std::vector<PlainEvent> events = Written(random, kEvents, kAuthors);
    SaveAll(*store, events);
    for (const PlainEvent& event : events) model.Save(event, 0);
    for (int question = 0; question < 150; ++question) {
      std::vector<Filter> filters = {AnyFilter(random, kAuthors, kEvents / 4)};
      if (random() % 4 == 0) filters.push_back(AnyFilter(random, kAuthors, kEvents / 4));
      const ModelAnswer expected = model.Find(filters, {});
      const auto query = store->Find(filters, {});
      const bool suspends = random() % 3 == 0;
      const Slice slice = {.max_work = random() % 2 == 0 ? kTurnWork : 3 * kVisitWork};
      const auto ids = Drain(*query, slice, [&](Query& between) {
        if (suspends) between.Suspend();
      });
      ASSERT_TRUE(SameIds(ids, expected.ids)) << "seed " << seed << ", question " << question;
      EXPECT_TRUE(query->complete() || !expected.complete);
    }
  }
}

class ManyAuthorsVisits : public testing::Test {
 protected:
  // Each of 1,000 authors has five kinds; the first twenty write half of all.
  void SetUp() override {
    std::vector<PlainEvent> events;
    for (size_t i = 0; i < 12'000; ++i) {
      const uint64_t author = i % 2 == 0 ? i / 2 % 20 : 20 + i / 2 % 980;
      events.push_back(Plain(Author(author), 1000 + i, static_cast<uint16_t>(1 + i / 3 % 5), {}, std::to_string(i)));
    }
    SaveAll(*store_, events);
  }

  uint64_t VisitsOf(const Filter& filter, size_t results) {
    const auto query = store_->Find({filter}, {});
    EXPECT_EQ(Drain(*query).size(), results);
    return query->visits();
  }

  const TempDirectory directory_;
  const std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "events"));
};

TEST_F(ManyAuthorsVisits, AreThoseOfTheNewestEventsWhereTheyWriteMuch) {
  // Fifty events and as many of others; one by one it would be a hundred ranges.
  EXPECT_LT(VisitsOf({.authors = Authors(0, 20), .limit = 50}, 50), 400U);
}

TEST_F(ManyAuthorsVisits, AreAFewMoreThanTheirOwnWhereTheyWriteLittle) {
  std::vector<PlainEvent> late;
  for (size_t i = 0; i < 8'000; ++i) late.push_back(Plain(Author(7), 20'000 + i, 1, {}, "late " + std::to_string(i)));
  SaveAll(*store_, late);
  // Three hundred ranges of one event each, and no more than as much again of others.
  const uint64_t visits = VisitsOf({.authors = Authors(100, 160), .limit = 50}, 50);
  EXPECT_GT(visits, 300U);
  EXPECT_LT(visits, 3'000U);
}

}  // namespace
}  // namespace weir
