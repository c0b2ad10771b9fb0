// Damaged databases: whatever stands in them is an error or a finding of the check, and nothing is read beyond it. The
// sanitizers see what these tests do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "relay/store/keys.h"
#include "relay/store/store_check.h"
#include "rocksdb/db.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/relay/store/damaged_block.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

std::string AnyBytes(std::mt19937_64& random, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// A copy exactly as large as its text, so that reading on is seen.
struct Tight {
  explicit Tight(std::string_view text) : bytes(new char[text.size()]), size(text.size()) {
    std::ranges::copy(text, bytes.get());
  }
  std::string_view view() const { return {bytes.get(), size}; }
  std::unique_ptr<char[]> bytes;
  size_t size;
};

TEST(Damage, KeysAndValuesOfAnyLengthAreReadWithinTheirBounds) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = AnyBytes(random, random() % 120);
    if (!text.empty() && random() % 2 == 0) text[0] = "iatkcdxervwm"[random() % 12];
    const Tight damaged(text);
    const Key copy = Key::Of(damaged.view());
    EXPECT_EQ(copy.view(), damaged.view().substr(0, Key::kMostBytes));
    IndexEntry entry;
    for (const auto& [letter, range_size] : {std::pair('c', 1), {'k', 3}, {'a', 11}, {'t', 12}}) {
      if (damaged.view().starts_with(letter)) (void)ReadEntry(damaged.view(), range_size, &entry);
    }
    (void)ReadIdValue(damaged.view(), &entry);
    (void)ReadAddressValue(damaged.view(), &entry);
    Counters counters;
    (void)ReadCounters(damaged.view(), &counters);
    (void)NewIndexPrefix()->Transform({damaged.view().data(), damaged.view().size()});
    if (EventView::WellFormed(damaged.view())) (void)EventView(damaged.view()).signature();
  }
}

TEST(Damage, CountersThatWouldGiveSerialsAgainAreRefused) {
  Counters counters;
  EXPECT_TRUE(ReadCounters(WriteCounters({.events = 5, .last_serial = kLastSerial}), &counters));
  EXPECT_FALSE(ReadCounters(WriteCounters({.events = 5, .last_serial = kLastSerial + 1}), &counters));
  EXPECT_FALSE(ReadCounters(WriteCounters({.events = 6, .last_serial = 5}), &counters));
}

// Copies a store as it is found after the machine was switched off. Returns its newest write-ahead log.
std::filesystem::path CrashImage(const RocksDbStore& store, const std::filesystem::path& to) {
  std::filesystem::copy(store.db()->GetName(), to, std::filesystem::copy_options::recursive);
  std::filesystem::path newest;
  for (const auto& file : std::filesystem::directory_iterator(to))
    if (file.path().extension() == ".log") newest = std::max(newest, file.path());
  return newest;
}

TEST(Damage, StoreAndCheckReportAWriteAheadLogReadInPart) {
  const TempDirectory directory;
  const auto store = MustOpen(SmallStore(directory / "events"));
  for (int n = 0; n < 200; ++n) SaveAll(*store, {Plain(Author(1), 1000, 1, {}, std::to_string(n))});
  // A crash in the midst of a write leaves a record without its end, which was never acknowledged.
  for (const std::string state : {"whole", "torn", "damaged"}) {
    StoreOptions options = SmallStore(directory / state);
    const std::filesystem::path log = CrashImage(*store, options.path);
    const auto bytes = static_cast<std::streamoff>(std::filesystem::file_size(log));
    const bool is_damaged = state == "damaged";
    if (state == "torn") std::filesystem::resize_file(log, static_cast<uintmax_t>(bytes) - 20);
    if (is_damaged) FlipByte(log, bytes / 3);
    for (const bool read_only : {true, false}) {
      SCOPED_TRACE(state + (read_only ? ", for reading" : ""));
      options.read_only = read_only;
      const auto again = MustOpen(options);
      ASSERT_NE(again, nullptr);
      EXPECT_EQ(StoredIds(*again).size() < 199, is_damaged);
      EXPECT_EQ(again->loss().find(log.filename()) != std::string::npos, is_damaged) << again->loss();
      const Result<CheckReport> report = CheckStore(*again);
      ASSERT_TRUE(report.ok()) << report.status().message();
      EXPECT_EQ(report.value().clean(), !is_damaged) << ToText(report.value());
    }
    options.read_only = false;
    const auto later = MustOpen(options);
    EXPECT_EQ(later->loss(), "") << "it was said at the start before";
    EXPECT_EQ(CheckStore(*later).value().clean(), !is_damaged) << "RocksDB's own log still tells";
  }
}

TEST(Damage, ADamagedBlockOfRecordsStopsNoRemovalAndNoSave) {
  const TempDirectory directory;
  const StoreOptions options = SmallStore(directory / "events");
  auto store = MustOpen(options);
  std::vector<PlainEvent> events = {Plain(Author(3), 1, 0)};
  for (uint64_t at = 1; at <= 100; ++at) {
    events.push_back(Plain(Author(1), at, 1, {{"t", "a"}}, std::string(300, 'x')));
    events.push_back(Plain(Author(2), at, 1, {{"expiration", "500"}}, std::string(300, 'x')));
  }
  SaveAll(*store, events);
  store = WithADamagedBlock(std::move(store), options);
  ASSERT_NE(store, nullptr);
  const Event damaged = ToEvent(events[0]);
  const EventView view = damaged.view();
  const Result<std::vector<bool>> stored = store->StoredSigned({&view, 1});
  ASSERT_TRUE(stored.ok()) << stored.status().message();
  EXPECT_FALSE(stored.value()[0]);
  EXPECT_EQ(SaveAll(*store, {Plain(Author(3), 2, 0), Plain(Author(1), 1000, 62, {{"relay", "ALL_RELAYS"}})}),
            (std::vector{SaveOutcome::kSaved, SaveOutcome::kSaved}));
  EXPECT_FALSE(store->owes_vanishing());
  const uint64_t left = store->Sizes().events;
  EXPECT_LT(left, 203U - 50) << "undamaged events vanish";
  uint64_t expired = 0;
  for (OwedPiece done{.more = true}; done.more; expired += done.removed) {
    const Result<OwedPiece> piece = store->RemoveExpired(500, kTurnWork);
    ASSERT_TRUE(piece.ok()) << piece.status().message();
    done = piece.value();
  }
  EXPECT_GT(expired, 50U);
  EXPECT_LT(expired, 100U) << "a damaged record stays";
  EXPECT_GT(store->Sizes().damaged_reads, 0U);
}

// Keys and values are cut, lengthened and changed; then everything that reads them is run.
class DamagedStore {
 public:
  explicit DamagedStore(uint64_t seed) : random_(seed), nostr_(seed, 400) {
    SaveAll(*store_, {nostr_.events().begin(), nostr_.events().begin() + 300}, RandomNostr::kStart);
    for (rocksdb::ColumnFamilyHandle* family : {store_->families()[1], store_->families()[2]}) Damage(family);
  }

  void UseAll() {
    for (int i = 0; i < 60; ++i) {
      const auto query = store_->Find(nostr_.Filters(), {.now_seconds = RandomNostr::kStart});
      for (Result<Progress> next = Progress::kMore; next.ok() && next.value() == Progress::kMore;)
        next = query->Next({}, [](EventView event) { (void)event.json(); });
    }
    for (const PlainEvent& event : nostr_.events()) {
      (void)store_->Has(ToBytes(event.id)).ok();
      const Event signed_event = ToEvent(event);
      const EventView view = signed_event.view();
      (void)store_->StoredSigned({&view, 1}).ok();
      std::vector<SaveResult> results(1);
      (void)store_->Save(std::vector{ToEvent(event)}, RandomNostr::kStart, results).ok();
    }
    for (int i = 0; i < 50; ++i) {
      (void)store_->RemoveVanished(100 * kEntryWork).ok();
      (void)store_->RemoveExpired(RandomNostr::kStart + 1000, 100 * kEntryWork).ok();
    }
    (void)store_->ScanAll({}, store_->Now().value(), [](Serial, EventView) { return true; }).ok();
    const Result<CheckReport> report = CheckStore(*store_);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_FALSE(report.value().clean());
  }

 private:
  void Damage(rocksdb::ColumnFamilyHandle* family) {
    std::vector<std::pair<std::string, std::string>> all;
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    const std::unique_ptr<rocksdb::Iterator> at(store_->db()->NewIterator(options, family));
    for (at->SeekToFirst(); at->Valid(); at->Next()) all.emplace_back(at->key().ToString(), at->value().ToString());
    for (const auto& [key, value] : all) {
      if (key == "m" || random_() % 4 != 0) continue;
      std::string damaged_key = key;
      std::string damaged_value = value;
      switch (random_() % 6) {
        case 0:
          damaged_key.resize(1 + random_() % key.size());
          break;
        case 1:
          damaged_key += AnyBytes(random_, 1 + random_() % 80);
          break;
        case 2:
          damaged_value.resize(value.empty() ? 0 : random_() % value.size());
          break;
        case 3:
          damaged_value += AnyBytes(random_, 1 + random_() % 40);
          break;
        case 4:
          damaged_key[random_() % key.size()] = static_cast<char>(random_());
          break;
        default:
          if (!value.empty()) damaged_value[random_() % value.size()] = static_cast<char>(random_());
      }
      ASSERT_TRUE(store_->db()->Delete({}, family, key).ok());
      ASSERT_TRUE(store_->db()->Put({}, family, damaged_key, damaged_value).ok());
    }
  }

  std::mt19937_64 random_;
  RandomNostr nostr_;
  TempDirectory directory_;
  std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "events"));
};

TEST(Damage, ADamagedStoreIsReadWrittenSweptAndChecked) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DamagedStore(seed).UseAll();
  }
}

}  // namespace
}  // namespace weir
