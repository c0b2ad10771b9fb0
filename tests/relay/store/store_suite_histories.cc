// A store against the model: whatever happens, the same outcomes, the same answers in the same order.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/relay/store/history.h"
#include "tests/relay/store/store_suite.h"

namespace weir {
namespace {

TEST_P(StoreSuite, RandomHistories) {
  constexpr int kSteps = 250;
  for (uint64_t seed = 1; seed <= Seeds(); ++seed) {
    History history(seed, 600, MakePlace(RandomNostr::kOwnUrl));
    history.EndBetweenPieces();
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

TEST_P(StoreSuite, EventsAreDeletedByIdInPiecesAndCanBeSavedAgain) {
  const auto place = MakePlace();
  const auto store = place->Open();
  ASSERT_NE(store, nullptr);
  std::vector<PlainEvent> events;
  for (int i = 0; i < 600; ++i) events.push_back(Plain(Author(i % 3), 1000, 1, {}, std::to_string(i)));
  events.push_back(Plain(Author(1), 1000, 1, {{"t", "last"}}, "stays"));
  SaveAll(*store, events);
  std::vector<EventId> ids{EventId{1}};  // is not stored
  for (size_t i = 0; i < 600; ++i) ids.push_back(ToBytes(events[i].id));
  ids.push_back(ids.back());  // twice
  for (const Work most : {Work{1}, 2 * kTurnWork, 1000 * kTurnWork}) {
    std::span<const EventId> left = ids;
    uint64_t removed = 0;
    size_t calls = 0;
    for (bool more = true; more; ++calls) {
      const Result<OwedPiece> piece = store->DeleteSome(&left, most);
      ASSERT_TRUE(piece.ok()) << piece.status().message();
      removed += piece.value().removed;
      more = piece.value().more;
      ASSERT_EQ(more, !left.empty());
      ASSERT_LE(calls, ids.size());
    }
    EXPECT_EQ(removed, 600U);
    EXPECT_EQ(calls > 3, most < 1000 * kTurnWork) << calls;
    EXPECT_EQ(store->Delete(ids).value(), 0U);
    const std::vector<bool> stored = store->Stored(ids).value();
    EXPECT_EQ(std::ranges::count(stored, true), 0);
    EXPECT_TRUE(store->Has(ToBytes(events.back().id)).value());
    SaveAll(*store, {events.begin(), events.end() - 1});
  }
  EXPECT_EQ(store->Sizes().events, 601U);
}

// The scan has them whatever is saved and removed meanwhile, in pieces as in one.
TEST_P(StoreSuite, AScanHasWhatWasStoredBetweenItsTwoMoments) {
  const auto place = MakePlace();
  const auto store = place->Open();
  ASSERT_NE(store, nullptr);
  std::vector<PlainEvent> events;
  for (int i = 0; i < 30; ++i) events.push_back(Plain(Author(i % 3), 1000, 1, {}, std::to_string(i)));
  const auto save = [&](int from, int to) { SaveAll(*store, {events.begin() + from, events.begin() + to}); };
  save(0, 10);
  const Moment after = store->Now().value();
  save(10, 20);
  const Moment until = store->Now().value();
  save(20, 30);
  ASSERT_EQ(store->Delete(std::vector{ToEvent(events[19]).view().id()}).value(), 1U);
  for (const size_t at_once : {1, 4, 100}) {
    std::vector<std::string> ids;
    Moment at = after;
    for (bool more = true; more;) {
      size_t count = 0;
      more = false;
      const Status status = store->ScanAll(at, until, [&](Serial serial, EventView event) {
        at.Advance(serial);
        ids.push_back(ToHex(event.id()));
        more = ++count == at_once;
        return !more;
      });
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_LE(ids.size(), events.size());
    }
    std::vector<std::string> expected;
    for (size_t i = 10; i < 19; ++i) expected.push_back(events[i].id);
    EXPECT_TRUE(SameIds(ids, expected)) << at_once << " at once";
  }
}

// A second in which more happened than any slice or limit holds.
TEST_P(StoreSuite, ManyEventsOfOneSecond) {
  const auto place = MakePlace();
  const auto store = place->Open();
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
    for (const Slice& slice :
         {Slice{.max_work = 1}, Slice{.max_work = kTurnWork / 10}, Slice{.max_bytes = 1}, Slice{}}) {
      ModelQuery query{.default_limit = 2500};
      const auto found = store->Find(filters, History::ForStore(query));
      EXPECT_TRUE(SameIds(Drain(*found, slice), model.Find(filters, query).ids)) << History::Describe(filters, query);
    }
  }
}

// The index knows the first four bytes of an id; the order is that of the whole ids. The twins were found by trying 1.5
// million.
TEST_P(StoreSuite, IdsThatBeginTheSame) {
  constexpr std::pair<int, int> kTwins[] = {{51765, 68319}, {7887, 74632}, {22786, 112947}, {151310, 191090}};
  const auto place = MakePlace();
  const auto store = place->Open();
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
      for (const Work work : {Work{1}, 2 * kSeekWork, kTurnWork}) {
        const auto found = store->Find({filter, Filter{.kinds = {{1}}, .limit = 1}}, {});
        const ModelAnswer expected = model.Find({filter, Filter{.kinds = {{1}}, .limit = 1}}, {});
        EXPECT_TRUE(SameIds(Drain(*found, {.max_work = work}), expected.ids)) << ToJson(filter);
        EXPECT_EQ(found->complete(), expected.complete) << ToJson(filter);
      }
    }
  }
}

// Events deleted or replaced since are missing; all else is as it was when the queries were made. No later event comes,
// except that a PostgreSQL may hand out the version that has replaced an event.
TEST_P(StoreSuite, SuspendedQueriesGoOnWhereTheyWere) {
  for (uint64_t seed = 1; seed <= Seeds(2); ++seed) {
    History history(seed, 600, MakePlace(RandomNostr::kOwnUrl));
    for (int round = 0; round < 10; ++round) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
      for (int n = 0; n < 3; ++n) history.Save((round + n / 10.0) / 11);
      const std::vector<Filter> filters = history.nostr().Filters();
      const ModelQuery asked = history.AnyQuery();
      ModelQuery without_limits = asked;
      without_limits.default_limit = without_limits.max_limit = UINT64_MAX;
      std::vector<Filter> unlimited = filters;
      for (Filter& filter : unlimited) filter.limit.reset();
      const auto query = history.store().Find(filters, History::ForStore(asked));
      const std::vector<std::string> in_limits = history.model().Find(filters, asked).ids;
      const std::vector<std::string> matches = history.model().Find(unlimited, without_limits).ids;
      const std::vector<Serial> last_serials = history.store().Now().value().last();
      int step = 0;
      std::set<std::string> gone;   // removed once; maybe they came again since
      std::set<std::string> newer;  // versions that came since
      const std::vector<std::string> ids =
          Drain(*query, {.max_work = 3 * kRecordWork, .max_bytes = 3000}, [&](Query& suspended) {
            suspended.Suspend();
            if (++step % 2 == 0) history.Save((round + std::min(step, 10) / 10.0) / 11);
            if (step % 3 == 0) history.Delete(round / 11.0);
            if (step % 5 == 0) history.Sweep();
            for (const std::string& id : matches)
              if (!history.model().Has(id)) gone.insert(id);
            if (!GetParam().name.starts_with("postgres")) return;
            for (const PlainEvent& event : history.model().events())
              if (HasAddress(event.kind) && std::ranges::find(matches, event.id) == matches.end())
                newer.insert(event.id);
          });
      const std::string what = History::Describe(filters, asked);
      size_t at = 0;
      for (const std::string& id : ids) {
        const auto match = std::find(matches.begin() + static_cast<ptrdiff_t>(at), matches.end(), id);
        if (match == matches.end() && newer.erase(id) > 0) continue;
        ASSERT_NE(match, matches.end()) << "twice, out of order, or came since: " << id << " " << what;
        at = static_cast<size_t>(match - matches.begin()) + 1;
      }
      const std::set<std::string> handed_out(ids.begin(), ids.end());
      for (const std::string& id : query->complete() ? matches : in_limits)
        ASSERT_TRUE(handed_out.contains(id) || gone.contains(id)) << id << " " << what;
      ASSERT_EQ(query->moment().last(), last_serials);
    }
  }
}

TEST_P(StoreSuite, AQueryBeginsBehindAPlace) {
  for (uint64_t seed = 1; seed <= Seeds(2); ++seed) {
    History history(seed, 600, MakePlace(RandomNostr::kOwnUrl));
    for (int n = 0; n < 30; ++n) history.Save(n / 60.0);
    std::map<std::string, EventPlace> place_of;
    for (const PlainEvent& event : history.model().events())
      place_of[event.id] = {.created_at = event.created_at, .id = ToBytes(event.id)};
    ASSERT_FALSE(place_of.empty());
    for (int n = 0; n < 60; ++n) {
      const EventPlace after =
          std::next(place_of.begin(), static_cast<ptrdiff_t>(history.nostr().Below(place_of.size())))->second;
      std::vector<Filter> filters = history.nostr().Filters();
      for (Filter& filter : filters) filter.limit.reset();
      const ModelQuery asked{.now_seconds = history.now(), .default_limit = INT64_MAX, .max_limit = INT64_MAX};
      QueryOptions options = History::ForStore(asked);
      options.after = after;
      std::vector<std::string> expected = history.model().Find(filters, asked).ids;
      std::erase_if(expected, [&](const std::string& id) { return !(after < place_of.at(id)); });
      const auto query = history.store().Find(filters, options);
      const auto suspend = [](Query& suspended) { suspended.Suspend(); };
      ASSERT_TRUE(SameIds(Drain(*query, history.AnySlice(), suspend), expected))
          << "seed " << seed << ", " << History::Describe(filters, asked);
    }
  }
}

std::vector<std::string> Words(int count) {
  std::vector<std::string> words;
  for (int i = 0; i < count; ++i) words.push_back("word" + std::to_string(i));
  std::ranges::sort(words);
  return words;
}

// Events of 2,000 tags, and filters of thousands of values and of many conditions: the dearest that a stranger can ask.
std::vector<Filter> DearFilters() {
  Filter tags{.tags = {{'t', Words(4990)}}};
  Filter ranges{.kinds = {{1}}, .tags = {{'t', Words(1000)}}, .limit = 5};
  Filter race{.tags = {{'p', Words(1000)}, {'q', Words(1000)}, {'r', Words(999)}, {'t', Words(998)}}};
  Filter ids;
  ids.ids.emplace();
  for (uint64_t i = 0; i < 4990; ++i) ids.ids->push_back(ToBytes(Author(i)));
  std::ranges::sort(*ids.ids);
  Filter authors{.authors = ids.ids};
  return {tags, ranges, race, ids, authors};
}

std::unique_ptr<EventStore> StoreOfManyTags(StoreUnderTest& place) {
  auto store = place.Open();
  for (int i = 0; i < 40; ++i) {
    std::vector<Tag> tags;
    for (int t = 0; t < 2000; ++t) tags.push_back({t % 2 == 0 ? "t" : "z", "word" + std::to_string(10 * i + t)});
    SaveAll(*store, {Plain(Author(i % 3), 1000 + i, 1, std::move(tags), std::to_string(i))});
  }
  return store;
}

// No worker is held for longer, whatever is asked; a slice exceeds it by at most one record, or a few keys.
TEST_P(StoreSuite, ASliceTakesNoMoreWorkThanItMayWhateverIsAsked) {
  const auto place = MakePlace();
  const auto store = StoreOfManyTags(*place);
  std::vector<std::vector<Filter>> questions = {DearFilters()};
  for (const Filter& filter : DearFilters()) questions.push_back({filter});
  questions.push_back(std::vector<Filter>(20, DearFilters().front()));
  // This is short to write, and has a thousand places to look at in each of four indexes.
  Filter many{.tags = {{'a', Words(32)}, {'b', Words(32)}, {'c', Words(32)}, {'d', Words(32)}}};
  many.kinds.emplace();
  for (uint16_t kind = 1; kind <= 32; ++kind) many.kinds->push_back(kind);
  questions.push_back(std::vector<Filter>(50, many));
  for (const std::vector<Filter>& filters : questions) {
    const auto query = store->Find(filters, {});
    size_t slices = 0;
    for (Progress progress = Progress::kMore; progress == Progress::kMore; ++slices) {
      const Work before = query->work();
      progress = query->Next({}, [](EventView) {}).value();
      EXPECT_LE(query->work() - before, 2 * kTurnWork) << ToJson(filters.front()).substr(0, 60);
      EXPECT_LT(query->held_bytes(), filters.size() * (1 << 20));
    }
    EXPECT_GT(slices, 1U);
    const auto in_pieces = store->Find(filters, {});
    const auto at_once = store->Find(filters, {});
    const std::vector<std::string> ids = Drain(*at_once, {.max_work = INT64_MAX, .max_bytes = UINT32_MAX});
    EXPECT_TRUE(SameIds(Drain(*in_pieces, {.max_work = kTurnWork / 10}), ids));
  }
}

TEST_P(StoreSuite, ASuspendedQueryHoldsAboutAKilobyte) {
  const auto place = MakePlace();
  const auto store = StoreOfManyTags(*place);
  for (const Filter& filter : DearFilters()) {
    const auto query = store->Find({filter}, {});
    ASSERT_TRUE(query->Next({.max_bytes = 1}, [](EventView) {}).ok());
    query->Suspend();
    EXPECT_LT(query->held_bytes(), 1200U);
    EXPECT_TRUE(query->Next({}, [](EventView) {}).ok());
  }
}

// Also holds if one write is looked up in several parts, and another version was removed in it before.
TEST_P(StoreSuite, ADeletedAddressStaysDeletedInAWriteOfManyEvents) {
  const auto place = MakePlace();
  const auto store = place->Open();
  ASSERT_NE(store, nullptr);
  const auto version = [](uint64_t time) { return Plain(Author(1), time, 30023, {{"d", "a"}}); };
  const std::string address = "30023:" + Author(1) + ":a";
  SaveAll(*store, {Plain(Author(1), 200, 5, {{"a", address}}), version(300)});
  std::vector<Event> events = {ToEvent(Plain(Author(1), 400, 5, {{"e", version(300).id}}))};
  for (uint64_t i = 0; i < 300; ++i) events.push_back(ToEvent(Plain(Author(2), i, 1)));
  events.push_back(ToEvent(version(100)));
  std::vector<SaveResult> results(events.size());
  const auto saved = store->SaveSome(events, 0, 1000 * kTurnWork, results);
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  ASSERT_EQ(saved.value(), events.size());
  EXPECT_EQ(results.front().outcome, SaveOutcome::kSaved);
  EXPECT_EQ(results.back().outcome, SaveOutcome::kDeleted);
}

TEST_P(StoreSuite, ExpiredEventsAreRemovedByTheirWork) {
  const auto place = MakePlace();
  const auto store = place->Open();
  ASSERT_NE(store, nullptr);
  constexpr uint64_t kEvents = 20;
  for (uint64_t i = 0; i < kEvents; ++i) {
    std::vector<Tag> tags{{"expiration", "2000"}};
    for (int t = 0; t < 1900; ++t) tags.push_back({"t", std::to_string(t)});
    SaveAll(*store, {Plain(Author(1), i, 1, std::move(tags))});
  }
  uint64_t removed = 0;
  uint64_t pieces = 0;
  for (bool more = true; more; ++pieces) {
    const Result<OwedPiece> piece = store->RemoveExpired(3000, kTurnWork);
    ASSERT_TRUE(piece.ok()) << piece.status().message();
    EXPECT_LE(piece.value().removed, 1U);
    removed += piece.value().removed;
    more = piece.value().more;
  }
  EXPECT_EQ(removed, kEvents);
  EXPECT_GE(pieces, kEvents);
}

TEST_P(StoreSuite, ASliceIsKeptTo) {
  const auto place = MakePlace();
  const auto store = place->Open();
  ASSERT_NE(store, nullptr);
  std::vector<PlainEvent> events;
  for (int i = 0; i < 2000; ++i)
    events.push_back(Plain(Author(i % 2), i, 1, {{"t", "a"}, {"p", Author(i % 7)}}, std::string(500, 'x')));
  SaveAll(*store, events);
  // Matches are rare: most of the visited events are not handed out.
  const Filter rare{.tags = {{'p', {Author(3)}}, {'t', {"a"}}}, .since = 100};
  for (const Filter& filter : {rare, Filter{}}) {
    const auto query = store->Find({filter}, {.default_limit = 5000});
    size_t calls = 0;
    for (Progress progress = Progress::kMore; progress == Progress::kMore; ++calls) {
      const Work before = query->work();
      uint64_t bytes = 0;
      progress = query
                     ->Next({.max_work = kTurnWork / 20, .max_bytes = 2000},
                            [&](EventView event) { bytes += event.json().size(); })
                     .value();
      EXPECT_LE(query->work() - before, kTurnWork / 10);
      EXPECT_LE(bytes, 2000U + 1500U);
    }
    EXPECT_GT(calls, 5U);
  }
}

}  // namespace
}  // namespace weir
