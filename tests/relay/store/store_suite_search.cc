// Search (NIP-50), against a slow reference that looks at every stored event.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "relay/nostr/expiration.h"
#include "relay/search/search_score.h"
#include "relay/search/search_text.h"
#include "relay/store/search/ranking_query.h"
#include "tests/relay/store/rounds.h"
#include "tests/relay/store/search_fixture.h"

namespace weir {
namespace {

bool IsSearched(uint16_t kind) { return std::binary_search(kSearchedKinds.begin(), kSearchedKinds.end(), kind); }

// Everything that a search has to agree with: the stored events, in the order of their serials.
class Reference {
 public:
  Reference(const EventStore& store, bool is_by_id) : is_by_id_(is_by_id) {
    const Status scanned = store.ScanAll({}, store.Now().value(), [this](Serial, EventView event) {
      records_.emplace_back(event.record());
      if (!IsSearched(event.kind())) return words_.emplace_back(), true;
      words_.push_back(WordsOf(ContentOf(event)));
      for (const WordCount& each : words_.back().words) ++counts_[each.word];
      return true;
    });
    EXPECT_TRUE(scanned.ok());
  }

  // Returns the ids of all matches, unless the filter has a limit.
  std::vector<std::string> Find(const Filter& filter) const {
    const std::vector<uint64_t> wanted = ParseSearch(*filter.search).value();
    std::vector<std::tuple<int64_t, int64_t, std::string, size_t>> ranked;
    for (size_t i = 0; i < records_.size(); ++i) {
      const EventView event(records_[i]);
      int64_t score = 0;
      bool matches = filter.Matches(event) && !IsExpired(event, kSearchNow);
      for (const uint64_t word : wanted) {
        const auto found = std::find_if(words_[i].words.begin(), words_[i].words.end(),
                                        [word](const WordCount& each) { return each.word == word; });
        matches = matches && found != words_[i].words.end();
        if (!matches) break;
        score += int64_t{WeightOf(counts_.at(word))} * FactorOf(DensityOf(found->times, words_[i].length));
      }
      if (matches)
        ranked.emplace_back(-score, -static_cast<int64_t>(event.created_at()), is_by_id_ ? ToHex(event.id()) : "", i);
    }
    std::sort(ranked.begin(), ranked.end());
    ranked.resize(std::min<size_t>(ranked.size(), filter.limit.value_or(500)));
    std::vector<std::string> ids;
    for (const auto& [score, time, id, i] : ranked) ids.push_back(ToHex(EventView(records_[i]).id()));
    return ids;
  }

 private:
  const bool is_by_id_;
  std::vector<std::string> records_;
  std::vector<SearchWords> words_;
  std::map<uint64_t, uint32_t> counts_;
};

// A random history of notes of few words, with everything that removes events.
class History {
 public:
  History(uint64_t seed, EventStore& store) : random_(seed), store_(store) {}

  uint64_t Below(uint64_t n) { return random_() % n; }

  std::string Text() {
    static const std::vector<std::string> kWords{"apple", "Äpfel", "apfel", "nostr", "relay", "東京都",
                                                 "京都",  "京",    "Zebra", "zebra", "the",   "the"};
    std::string text;
    for (uint64_t n = 1 + Below(12); n > 0; --n) text += kWords[Below(kWords.size())] + (Below(4) == 0 ? "" : " ");
    return text;
  }

  void Step() {
    const std::string author = Author(Below(4));
    const uint64_t time = 1000 + Below(50);
    switch (Below(12)) {
      case 0:
        if (!saved_.empty()) Save(Plain(author, time, 5, {{"e", saved_[Below(saved_.size())]}}));
        return;
      case 1:
        return Save(Plain(author, time, 30023, {{"d", std::to_string(Below(3))}}, Text()));
      case 2:
        return Save(Plain(author, time, 1, {{"expiration", std::to_string(kSearchNow - 20 + Below(40))}}, Text()));
      case 3:
        return Save(Plain(author, time, 7, {}, Text()));
      case 4: {
        if (Below(10) == 0) return Save(Plain(author, 1000 + Below(20), 62, {{"relay", "ALL_RELAYS"}}));
        if (saved_.empty() || Below(4) > 0) return;
        const Bytes32 id = ToBytes(saved_[Below(saved_.size())]);
        EXPECT_TRUE(store_.Delete({&id, 1}).ok());
        return;
      }
      case 5:
        EXPECT_TRUE(store_.RemoveExpired(kSearchNow - 10, kTurnWork).ok());
        return;
      case 6:
        EXPECT_TRUE(store_.BuildSearch(1 + Below(200'000)).ok());
        return;
      default:
        return Save(Plain(author, time, 1, {{"t", std::to_string(Below(3))}}, Text()));
    }
  }

  Filter AnySearch() {
    static const std::vector<std::string> kSearches{
        "apple", "apfel",     "the relay",         "東京",    "京都",
        "京",    "zebra the", "nostr apple zebra", "missing", "the language:en"};
    Filter filter = SearchFor(kSearches[Below(kSearches.size())]);
    if (Below(3) == 0) filter.limit = Below(6);
    if (Below(3) == 0) filter.kinds = std::vector<uint16_t>{static_cast<uint16_t>(Below(2) == 0 ? 1 : 30023)};
    if (Below(3) == 0) filter.authors = std::vector<PublicKey>{ToBytes(Author(Below(4)))};
    if (Below(4) == 0) filter.tags.push_back({'t', {std::to_string(Below(3))}});
    if (Below(4) == 0) filter.since = 1000 + Below(50);
    if (Below(4) == 0) filter.until = 1000 + Below(50);
    if (Below(8) == 0 && !saved_.empty()) filter.ids = std::vector<EventId>{ToBytes(saved_[Below(saved_.size())])};
    return filter;
  }

 private:
  void Save(const PlainEvent& event) {
    SaveAll(store_, {event}, kSearchNow - 10);
    saved_.push_back(event.id);
  }

  std::mt19937_64 random_;
  EventStore& store_;
  std::vector<std::string> saved_;
};

// Returns the answer, read in slices of any size, with suspensions in between.
std::vector<std::string> Answer(const EventStore& store, const Filter& filter, History* random) {
  const auto query = store.Find({filter}, {.now_seconds = kSearchNow});
  std::vector<std::string> ids;
  while (true) {
    const Slice slice{.max_work = 1 + random->Below(40'000),
                      .max_bytes = static_cast<uint32_t>(1 + random->Below(900))};
    const Result<Progress> progress = query->Next(slice, [&](EventView e) { ids.push_back(ToHex(e.id())); });
    EXPECT_TRUE(progress.ok()) << progress.status().message();
    if (!progress.ok() || progress.value() == Progress::kDone) return ids;
    if (random->Below(4) == 0) query->Suspend();
  }
}

TEST_P(SearchSuite, RandomHistoriesAgreeWithTheReference) {
  for (uint64_t seed = 1; seed <= RoundsBy("WEIR_HISTORY_SEEDS", 8); ++seed) {
    SCOPED_TRACE(seed);
    const std::unique_ptr<SearchPlace> place = GetParam().make();
    const bool begins_later = seed % 2 == 0;
    std::unique_ptr<EventStore> store = place->Open(!begins_later);
    History history(seed, *store);
    for (int i = 0; i < 150; ++i) history.Step();
    if (begins_later) {
      store.reset();
      store = place->Open();
      EXPECT_GT(store->Sizes().unsearched.value_or(0), 0U);
    }
    History later(seed + 1000, *store);
    for (int i = 0; i < 150; ++i) later.Step();
    EXPECT_EQ(place->Difference(*store), "");
    BuildAll(*store);
    EXPECT_EQ(place->Difference(*store), "");
    EXPECT_EQ(store->Sizes().unsearched, 0U);
    const Reference reference(*store, place->is_by_id());
    for (int i = 0; i < 60; ++i) {
      const Filter filter = later.AnySearch();
      EXPECT_EQ(Answer(*store, filter, &later), reference.Find(filter)) << ToJson(filter);
    }
  }
}

// Asks for everything, as a COUNT does.
std::vector<std::string> All(const EventStore& store, const std::vector<Filter>& filters) {
  const auto query = store.Find(
      filters, {.now_seconds = kSearchNow, .default_limit = kAllEvents, .max_limit = kAllEvents, .fills_cache = false});
  std::vector<std::string> ids = Drain(*query);
  EXPECT_TRUE(query->complete());
  std::sort(ids.begin(), ids.end());
  return ids;
}

TEST_P(SearchSuite, ACountHasEachMatchOfAnyFilterOnce) {
  const auto store = Open();
  History history(1, *store);
  for (int i = 0; i < 300; ++i) history.Step();
  BuildAll(*store);
  const Reference reference(*store, place_->is_by_id());
  for (int i = 0; i < 60; ++i) {
    std::vector<Filter> filters;
    std::set<std::string> wanted;
    for (uint64_t n = 1 + history.Below(3); n > 0; --n) {
      filters.push_back(history.AnySearch());
      filters.back().limit.reset();
      if (!filters.back().kinds) filters.back().kinds = kSearchedKinds;
      for (const std::string& id : reference.Find(filters.back())) wanted.insert(id);
    }
    if (history.Below(2) == 0) {
      Filter& plain = filters.emplace_back();
      plain.since = 1000 + history.Below(50);
      for (const std::string& id : Drain(*store->Find({plain}, {.now_seconds = kSearchNow}))) wanted.insert(id);
    }
    EXPECT_EQ(All(*store, filters), std::vector<std::string>(wanted.begin(), wanted.end()));
  }
}

TEST_P(SearchSuite, ACountIsNotCutOff) {
  const auto store = Open();
  std::vector<PlainEvent> notes;
  for (uint64_t i = 0; i < 2500; ++i) notes.push_back(Plain(Author(1), 100 * i, 1, {}, "the " + std::to_string(i)));
  SaveAll(*store, notes);
  EXPECT_EQ(All(*store, {SearchFor("the")}).size(), 2500U);
}

TEST_P(SearchSuite, RanksByRelevanceThenTime) {
  const auto store = Open();
  SaveAll(*store, {Plain(Author(1), 10, 1, {}, "old weir"), Plain(Author(1), 20, 1, {}, "new weir"),
                   Plain(Author(1), 30, 1, {}, "weir weir weir"),
                   Plain(Author(1), 40, 1, {}, "a weir that stands in a much longer text about rivers and mills"),
                   Plain(Author(1), 50, 7, {}, "weir of a kind that is not searched")});
  EXPECT_EQ(ContentsOf(*store, {SearchFor("WEIR")}),
            (std::vector<std::string>{"weir weir weir", "new weir", "old weir",
                                      "a weir that stands in a much longer text about rivers and mills"}));
  EXPECT_EQ(ContentsOf(*store, {SearchFor("weir", 2)}), (std::vector<std::string>{"weir weir weir", "new weir"}));
}

TEST_P(SearchSuite, AnswersSearchesBeforeOtherFiltersAndEachEventOnce) {
  const auto store = Open();
  SaveAll(*store, {Plain(Author(1), 10, 1, {}, "orange one"), Plain(Author(1), 20, 1, {}, "purple two"),
                   Plain(Author(1), 30, 1, {}, "orange purple orange"), Plain(Author(1), 40, 1, {}, "other")});
  bool complete = false;
  EXPECT_EQ(ContentsOf(*store, {Filter(), SearchFor("orange"), SearchFor("purple")}, &complete),
            (std::vector<std::string>{"orange purple orange", "orange one", "purple two", "other"}));
  EXPECT_TRUE(complete);
  EXPECT_EQ(ContentsOf(*store, {SearchFor("orange", 1)}, &complete), std::vector<std::string>{"orange purple orange"});
  EXPECT_FALSE(complete);
}

TEST_P(SearchSuite, LeavesOutWhatTheClientMayNotSee) {
  const auto store = Open();
  SaveAll(*store, {Plain(Author(1), 10, 1, {}, "secret word"), Plain(Author(2), 20, 1, {}, "open word")});
  const auto query = store->Find({SearchFor("word", 1)},
                                 {.visible = [](EventView event) { return event.pubkey() == ToBytes(Author(1)); }});
  EXPECT_EQ(Drain(*query).size(), 1U);
}

TEST_P(SearchSuite, FindsNothingThatIsSavedLater) {
  const auto store = Open();
  SaveAll(*store, {Plain(Author(1), 10, 1, {}, "word one")});
  const auto query = store->Find({SearchFor("word")}, {});
  size_t found = 0;
  ASSERT_TRUE(query->Next({.max_work = 1}, [&found](EventView) { ++found; }).ok());
  query->Suspend();
  SaveAll(*store, {Plain(Author(1), 20, 1, {}, "word two")});
  EXPECT_EQ(found + Drain(*query).size(), 1U);
}

TEST_P(SearchSuite, AWordThatEverybodyUsesCostsABoundedWork) {
  const auto store = Open();
  std::vector<PlainEvent> notes;
  for (uint64_t i = 0; i < 3000; ++i) notes.push_back(Plain(Author(1), i, 1, {}, "the " + std::to_string(i % 7)));
  SaveAll(*store, notes);
  const auto query = store->Find({SearchFor("the")}, {.max_limit = 5000});
  uint64_t most = 0;
  for (uint64_t before = 0;; before = query->work()) {
    const Result<Progress> progress = query->Next({.max_work = kTurnWork / 10}, [](EventView) {});
    ASSERT_TRUE(progress.ok());
    most = std::max(most, query->work() - before);
    if (progress.value() == Progress::kDone) break;
  }
  EXPECT_LT(most, kTurnWork / 10 + place_->most_step()) << "a slice";
  EXPECT_LT(query->work(), kMostWalk + 10 * kTurnWork);
  EXPECT_LT(query->held_bytes(), 200U << 10);
}

}  // namespace
}  // namespace weir
