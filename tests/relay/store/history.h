// History: a random sequence of operations, which a store and the model (model_store.h) both execute. Compares the two
// after every step.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "relay/store/keys.h"
#include "tests/fixtures/model_store.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/relay/store/store_fixture.h"
#include "tests/relay/store/store_under_test.h"

namespace weir {

// Returns a failure that names the first difference of two long lists.
inline testing::AssertionResult SameIds(const std::vector<std::string>& ids, const std::vector<std::string>& expected) {
  const auto [at, at_expected] = std::ranges::mismatch(ids, expected);
  if (at == ids.end() && at_expected == expected.end()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << ids.size() << " events instead of " << expected.size() << "; at place "
                                     << at - ids.begin() << " " << (at == ids.end() ? "nothing" : *at) << " instead of "
                                     << (at_expected == expected.end() ? "nothing" : *at_expected);
}

class History {
 public:
  History(uint64_t seed, size_t events,
          std::unique_ptr<StoreUnderTest> place = std::make_unique<RocksDbUnderTest>(RandomNostr::kOwnUrl))
      : place_(std::move(place)), nostr_(seed, events), model_({RandomNostr::kOwnUrl}) {
    Reopen();
  }

  RandomNostr& nostr() { return nostr_; }
  EventStore& store() { return *store_; }
  const ModelStore& model() const { return model_; }
  uint64_t now() const { return now_; }

  // Executes one random step. `progress` goes from 0 at the start of the history to 1 at its end.
  void Step(double progress) {
    if (nostr_.OneIn(3)) now_ += nostr_.Below(4);
    Save(progress);
    if (nostr_.OneIn(2)) Ask();
    if (nostr_.OneIn(2)) AskIds();
    if (nostr_.OneIn(15)) Delete(progress);
    if (nostr_.OneIn(15)) Sweep();
    if (nostr_.OneIn(40)) Reopen();
  }

  void Save(double progress) {
    std::vector<PlainEvent> batch;
    for (uint64_t n = 1 + nostr_.Below(nostr_.OneIn(4) ? 30 : 4); n > 0; --n)
      batch.push_back(!batch.empty() && nostr_.OneIn(10) ? batch.back() : nostr_.Around(progress));
    std::vector<SaveOutcome> expected;
    for (const PlainEvent& event : batch) expected.push_back(model_.Save(event, now_));
    const std::vector<SaveOutcome> outcomes = nostr_.OneIn(2) ? SaveAll(*store_, batch, now_) : SaveInPieces(batch);
    ASSERT_EQ(outcomes.size(), batch.size());
    for (size_t i = 0; i < batch.size(); ++i)
      ASSERT_EQ(static_cast<int>(outcomes[i]), static_cast<int>(expected[i])) << i << ": " << JsonOf(batch[i]);
  }

  // Saves as the commit thread does, with bounds so small that deletions take several writes.
  std::vector<SaveOutcome> SaveInPieces(const std::vector<PlainEvent>& batch) {
    std::vector<Event> events;
    for (const PlainEvent& event : batch) events.push_back(ToEvent(event));
    std::vector<SaveResult> results(events.size());
    for (size_t next = 0; next < events.size();) {
      const Result<size_t> settled =
          store_->SaveSome(std::span(events).subspan(next), now_, AnyWork(), std::span(results).subspan(next));
      EXPECT_TRUE(settled.ok()) << settled.status().message();
      if (!settled.ok()) return {};
      next += settled.value();
      MaybeEnd();
    }
    for (OwedPiece done{.more = true}; done.more;) {
      const Result<OwedPiece> piece = store_->RemoveVanished(AnyWork());
      EXPECT_TRUE(piece.ok()) << piece.status().message();
      if (!piece.ok()) return {};
      done = piece.value();
      MaybeEnd();
    }
    std::vector<SaveOutcome> outcomes;
    for (const SaveResult& result : results) outcomes.push_back(result.outcome);
    return outcomes;
  }
  // From here on, the history may simulate the end of the process between two pieces. REQUIRES: no query is open.
  void EndBetweenPieces() { ends_ = true; }
  void MaybeEnd() {
    if (!ends_ || !nostr_.OneIn(150)) return;
    store_.reset();
    store_ = place_->Open();
  }
  Work AnyWork() { return nostr_.OneIn(3) ? 1 : nostr_.Below(100 * kEntryWork); }

  void Ask() {
    const std::vector<Filter> filters = nostr_.Filters();
    const ModelQuery query = AnyQuery();
    const auto found = store_->Find(filters, ForStore(query));
    // The store does not change meanwhile, so a suspension between two slices must not change the result.
    const std::vector<std::string> ids =
        Drain(*found, AnySlice(), [this, now_and_then = nostr_.OneIn(2)](Query& suspended) {
          if (now_and_then && nostr_.OneIn(3)) suspended.Suspend();
        });
    const ModelAnswer expected = model_.Find(filters, query);
    ASSERT_TRUE(SameIds(ids, expected.ids)) << Describe(filters, query);
    ASSERT_EQ(found->complete(), expected.complete) << Describe(filters, query);
  }

  // Asks for the ids and dates of all matches, as a comparison of sets does. An author, an event and some kinds are
  // hidden; some of it the index shows, of the rest the record must be read.
  void AskIds() {
    Filter filter = nostr_.Filters().front();
    filter.limit.reset();
    ModelQuery query{.now_seconds = now_, .default_limit = kAllEvents, .max_limit = kAllEvents, .visible = {}};
    QueryOptions options{.now_seconds = now_, .default_limit = kAllEvents, .max_limit = kAllEvents};
    options.ids_only.emplace();
    options.ids_only->most_waiting = 1 + nostr_.Below(20);
    if (nostr_.OneIn(3)) options.max_limit = 1 + nostr_.Below(100);
    if (nostr_.OneIn(2)) {
      const PlainEvent hidden = nostr_.Around(0.5);
      const PublicKey author = ToBytes(hidden.pubkey);
      query.visible = [author = hidden.pubkey, id = nostr_.Around(0.5).id](const PlainEvent& event) {
        return event.kind != 4 && event.kind != 7 && event.pubkey != author && event.id != id;
      };
      options.visible = [visible = query.visible](EventView event) {
        return visible({.pubkey = ToHex(event.pubkey()),
                        .kind = event.kind(),
                        .tags = {},
                        .content = {},
                        .id = ToHex(event.id())});
      };
      options.ids_only->sight = [author](uint16_t kind, uint32_t by) {
        if (kind == 4) return Sight::kHidden;
        const bool may_be_hidden = by == ReadNumber(reinterpret_cast<const char*>(author.data()), 4);
        return kind == 7 || may_be_hidden ? Sight::kUnknown : Sight::kShown;
      };
      options.ids_only->shows = [visible = query.visible](const EventId& id) {
        return visible({.kind = 1, .tags = {}, .content = {}, .id = ToHex(id)});
      };
    }
    std::vector<std::string> expected = model_.Find({filter}, query).ids;
    std::ranges::sort(expected);
    const auto found = store_->Find({filter}, options);
    const Slice slice = AnySlice();
    std::vector<std::pair<std::string, uint64_t>> passed;
    uint64_t suspensions = nostr_.Below(4);
    for (Progress progress = Progress::kMore; progress == Progress::kMore;) {
      const Result<Progress> next =
          found->Next(slice, [&](EventView event) { passed.emplace_back(ToHex(event.id()), event.created_at()); });
      ASSERT_TRUE(next.ok()) << next.status().message();
      progress = next.value();
      if (suspensions == 0 || !nostr_.OneIn(3)) continue;
      found->Suspend();
      --suspensions;
    }
    std::ranges::sort(passed);
    std::vector<std::string> ids;
    for (const auto& [id, created_at] : passed) {
      ids.push_back(id);
      const auto event = std::ranges::find(nostr_.events(), id, &PlainEvent::id);
      ASSERT_EQ(created_at, event->created_at);
    }
    if (expected.size() > options.max_limit) {
      ASSERT_FALSE(found->complete()) << Describe({filter}, query);
      ASSERT_LE(ids.size(), options.max_limit);
    } else {
      ASSERT_TRUE(SameIds(ids, expected)) << Describe({filter}, query);
    }
  }

  void Delete(double progress) {
    std::vector<EventId> ids;
    size_t expected = 0;
    for (uint64_t n = nostr_.Below(4); n > 0; --n) {
      const std::string& id = nostr_.Around(progress).id;
      ids.push_back(ToBytes(id));
      expected += model_.Delete(id) ? 1 : 0;
    }
    const Result<uint64_t> deleted = store_->Delete(ids);
    ASSERT_TRUE(deleted.ok()) << deleted.status().message();
    ASSERT_EQ(deleted.value(), expected);
  }

  // Removes expired events, in pieces of random size. The process may end between two pieces.
  void Sweep() {
    const uint64_t before = store_->Sizes().events;
    for (OwedPiece done{.more = true}; done.more;) {
      const Result<OwedPiece> piece = store_->RemoveExpired(now_, AnyWork());
      ASSERT_TRUE(piece.ok()) << piece.status().message();
      done = piece.value();
      MaybeEnd();
    }
    ASSERT_EQ(before - store_->Sizes().events, model_.SweepExpired(now_));
  }

  void Reopen() {
    store_.reset();
    store_ = place_->Open();
    ASSERT_NE(store_, nullptr);
    if (nostr_.OneIn(2)) CompareAll();
  }

  // Compares all results of the store that need no filter.
  void CompareAll() {
    std::vector<std::string> expected;
    for (const PlainEvent& event : model_.events()) expected.push_back(event.id);
    ASSERT_EQ(StoredIds(*store_), expected);
    ASSERT_EQ(store_->Sizes().events, expected.size());
    for (const PlainEvent& event : nostr_.events()) {
      const Result<bool> has = store_->Has(ToBytes(event.id));
      ASSERT_TRUE(has.ok());
      ASSERT_EQ(has.value(), model_.Has(event.id));
    }
    ASSERT_EQ(place_->Difference(*store_), "");
  }

  ModelQuery AnyQuery() {
    ModelQuery query;
    query.now_seconds = now_;
    if (nostr_.OneIn(4)) query.default_limit = nostr_.Below(10);
    if (nostr_.OneIn(4)) query.max_limit = 1 + nostr_.Below(20);
    if (nostr_.OneIn(4)) query.visible = [](const PlainEvent& event) { return event.kind != 4 && event.kind != 1059; };
    return query;
  }
  static QueryOptions ForStore(const ModelQuery& query) {
    QueryOptions options;
    options.now_seconds = query.now_seconds;
    options.default_limit = query.default_limit;
    options.max_limit = query.max_limit;
    if (query.visible) options.visible = [](EventView event) { return event.kind() != 4 && event.kind() != 1059; };
    return options;
  }
  Slice AnySlice() {
    Slice slice;
    slice.max_work = 1 + nostr_.Below(nostr_.OneIn(3) ? 10 * kVisitWork : 2 * kTurnWork);
    slice.max_bytes = static_cast<uint32_t>(1 + nostr_.Below(20'000));
    return slice;
  }
  static std::string Describe(const std::vector<Filter>& filters, const ModelQuery& query) {
    std::string text = "default limit " + std::to_string(query.default_limit) + ", at most " +
                       std::to_string(query.max_limit) + (query.visible ? ", not all visible" : "");
    for (const Filter& filter : filters) text += "\n" + ToJson(filter);
    return text;
  }

 private:
  const std::unique_ptr<StoreUnderTest> place_;
  RandomNostr nostr_;
  ModelStore model_;
  std::unique_ptr<EventStore> store_;
  uint64_t now_ = RandomNostr::kStart;
  bool ends_ = false;
};

}  // namespace weir
