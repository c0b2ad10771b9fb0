#include "relay/store/census/rocksdb_census.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "relay/store/census/arrivals.h"
#include "relay/store/census/kind_counts.h"
#include "relay/store/census/largest.h"
#include "relay/store/database.h"
#include "relay/store/keys.h"
#include "rocksdb/db.h"

namespace weir {
namespace {

constexpr Work kSliceWork = 4 * kTurnWork;
constexpr size_t kRecordsAtOnce = 64;
// A relay has some hundred kinds. If more kinds have full samples than this, the kinds with higher numbers have small
// ones.
constexpr uint64_t kFullSamples = 256;
constexpr size_t kSmallSample = 4;
// Lengths of the keys (relay/store/keys.h) before their time: a letter and a kind; an author before it; a tag before
// it.
constexpr size_t kKindRange = 1 + 2;
constexpr size_t kAuthorRange = 1 + 8 + 2;
constexpr size_t kTagRange = 1 + 1 + 8 + 2;

// Serials of some of the events that are added, each with the same chance ("reservoir sampling").
class RandomSerials {
 public:
  explicit RandomSerials(size_t most) : most_(most) {}
  void Add(uint64_t serial, std::minstd_rand& random) {
    ++added_;
    if (serials_.size() < most_) {
      serials_.push_back(serial);
    } else if (const uint64_t place = std::uniform_int_distribution<uint64_t>(0, added_ - 1)(random); place < most_) {
      serials_[place] = serial;
    }
  }
  std::vector<uint64_t> Take() && {
    std::ranges::sort(serials_);
    return std::move(serials_);
  }

 private:
  size_t most_;
  uint64_t added_ = 0;
  std::vector<uint64_t> serials_;
};

// Takes one census. Counts the kinds first, because the price of a byte follows from them.
class RocksDbCensusTaker {
 public:
  RocksDbCensusTaker(const RocksDbStore& store, const CensusOptions& options, uint64_t last_serial)
      : db_(*store.db()), options_(options), arrivals_(last_serial, options.now_seconds) {
    for (rocksdb::ColumnFamilyHandle* family : store.families()) {
      if (family->GetName() == kEventsFamily) events_ = family;
      if (family->GetName() == kIndexFamily) index_ = family;
      if (family->GetName() == kSearchFamily) search_ = family;
    }
    read_.fill_cache = false;
    read_.total_order_seek = true;
    if (!options.await) read_.readahead_size = 256 << 10;
    census_.at_seconds = options.now_seconds;
    census_.rule = options.rule;
  }

  Result<Census> Take() {
    MeasureDisk();
    if (Status counted = CountKinds(); !counted.ok()) return counted;
    FinishKinds(&census_);
    arrivals_.AddTo(&census_.days);
    if (Status counted = CountAuthors(); !counted.ok()) return counted;
    if (Status counted = CountTags(); !counted.ok()) return counted;
    return std::move(census_);
  }

 private:
  struct Candidate {
    uint64_t events = 0;
    std::vector<uint64_t> serials;
  };
  struct TagRun {
    char letter = 0;
    uint64_t hash = 0;
    uint64_t entries = 0;
    uint64_t serial = 0;
  };

  Result<Admission> Await() const { return options_.await ? options_.await() : Result<Admission>(Admission()); }

  // Calls visit(key) for the keys of the index from `from` on, in their order, until it returns false or a key has
  // another first byte than `from`. Between two slices it holds no iterator, so nothing is pinned while it waits.
  template <typename Visit>
  Status Walk(std::string from, Visit&& visit) {
    const Work most = options_.await ? kSliceWork : std::numeric_limits<Work>::max();
    const char letter = from[0];
    while (true) {
      const Result<Admission> admission = Await();
      if (!admission.ok()) return admission.status();
      const std::unique_ptr<rocksdb::Iterator> at(db_.NewIterator(read_, index_));
      Work work = kSeekWork;
      at->Seek(from);
      for (; at->Valid() && work < most; at->Next()) {
        if (at->key()[0] != letter || !visit(ToView(at->key()))) return {};
        work += kVisitWork;
      }
      if (!at->status().ok()) return DatabaseError("cannot read the index", at->status());
      if (!at->Valid()) return {};
      from = at->key().ToString();
    }
  }

  // Calls visit(record) for those of the events that are stored. Passes over damaged records, which `weir
  // check` reports.
  template <typename Visit>
  Status ReadRecords(const std::vector<uint64_t>& serials, Visit&& visit) {
    for (size_t begin = 0; begin < serials.size(); begin += kRecordsAtOnce) {
      const size_t count = std::min(kRecordsAtOnce, serials.size() - begin);
      const Result<Admission> admission = Await();
      if (!admission.ok()) return admission.status();
      std::vector<Key> keys;
      for (size_t i = 0; i < count; ++i) keys.push_back(EventKey(serials[begin + i]));
      std::vector<rocksdb::Slice> slices;
      for (const Key& key : keys) slices.push_back(ToSlice(key));
      std::vector<rocksdb::PinnableSlice> records(count);
      std::vector<rocksdb::Status> statuses(count);
      db_.MultiGet(read_, events_, count, slices.data(), records.data(), statuses.data());
      for (size_t i = 0; i < count; ++i) {
        if (!statuses[i].ok() && !statuses[i].IsNotFound() && !statuses[i].IsCorruption())
          return DatabaseError("cannot read the events", statuses[i]);
        const std::string_view record = ToView(records[i]);
        if (statuses[i].ok() && EventView::WellFormed(record)) visit(record);
      }
    }
    return {};
  }

  void MeasureDisk() {
    uint64_t tables = 0;
    const auto size_of = [&](rocksdb::ColumnFamilyHandle* family) {
      uint64_t table_bytes = 0;
      uint64_t memory_bytes = 0;
      db_.GetIntProperty(family, rocksdb::DB::Properties::kLiveSstFilesSize, &table_bytes);
      db_.GetIntProperty(family, rocksdb::DB::Properties::kCurSizeAllMemTables, &memory_bytes);
      tables += table_bytes;
      return table_bytes + memory_bytes;
    };
    census_.disk.events = size_of(events_);
    census_.disk.index = size_of(index_) + (search_ == nullptr ? 0 : size_of(search_));
    uint64_t all = 0;
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(db_.GetName(), error)) {
      std::error_code gone;
      const uint64_t bytes = file.file_size(gone);
      if (gone) continue;
      all += bytes;
      if (file.path().extension() == ".log") census_.disk.log += bytes;
    }
    census_.disk.other = all - std::min(all, tables + census_.disk.log);
    if (const auto space = std::filesystem::space(db_.GetName(), error); !error)
      census_.disk.free_bytes = space.available;
  }

  Status CountKinds() {
    std::string from = "k";
    while (!from.empty()) {
      const size_t most = census_.sampled < kFullSamples * options_.sample ? options_.sample : kSmallSample;
      RandomSerials serials(most);
      std::optional<KindCounts> counts;
      const std::string begin = std::exchange(from, "");
      Status walked = Walk(begin, [&](std::string_view key) {
        IndexEntry entry;
        if (!ReadEntry(key, kKindRange, &entry)) return true;  // damaged; `weir check` reports it
        if (!counts) counts.emplace(entry.kind, options_);
        if (counts->kind() != entry.kind) {
          from = key.substr(0, kKindRange);
          return false;
        }
        counts->Add(~entry.inverted_time);
        arrivals_.AddEvent(entry.serial, ~entry.inverted_time);
        serials.Add(entry.serial, random_);
        return true;
      });
      if (walked.ok() && counts) walked = MeasureKind(*counts, std::move(serials).Take());
      if (!walked.ok()) return walked;
    }
    return {};
  }

  Status MeasureKind(const KindCounts& counts, const std::vector<uint64_t>& serials) {
    Sample sample;
    Status read = ReadRecords(
        serials, [&](std::string_view record) { sample.Add(static_cast<double>(record.size()), EntriesOf(record)); });
    if (!read.ok()) return read;
    AddKind(counts, sample, &census_);
    typical_[counts.kind()] = sample.Of(1, 1);
    arrivals_.Measure(sample, counts.events());
    return {};
  }

  // Selects the authors whose events are likely to be the largest, from the kinds of their events, and measures these.
  Status CountAuthors() {
    std::vector<double> typical_bytes(typical_.size());
    for (size_t kind = 0; kind < typical_.size(); ++kind) typical_bytes[kind] = census_.price.DiskBytes(typical_[kind]);
    Largest<Candidate> largest(options_.most_rows * kCandidatesForRow);
    std::string author;
    uint64_t events = 0;
    double bytes = 0;
    RandomSerials serials(kSampleOfAuthor);
    const auto finish = [&] {
      if (events > 0 && largest.Takes(bytes)) largest.Add(bytes, {events, std::move(serials).Take()});
      events = 0;
      bytes = 0;
      serials = RandomSerials(kSampleOfAuthor);
    };
    Status walked = Walk("a", [&](std::string_view key) {
      IndexEntry entry;
      if (!ReadEntry(key, kAuthorRange, &entry)) return true;
      if (const std::string_view prefix = key.substr(0, kAuthorRange - 2); prefix != author) {
        finish();
        author = prefix;
      }
      ++events;
      bytes += typical_bytes[entry.kind];
      serials.Add(entry.serial, random_);
      return true;
    });
    if (!walked.ok()) return walked;
    finish();
    for (const Candidate& candidate : std::move(largest).Take())
      if (Status measured = MeasureAuthor(candidate); !measured.ok()) return measured;
    KeepLargestAuthors(options_.most_rows, &census_);
    return {};
  }

  Status MeasureAuthor(const Candidate& candidate) {
    Sample sample;
    Census::OfAuthor author;
    Status read = ReadRecords(candidate.serials, [&](std::string_view record) {
      sample.Add(static_cast<double>(record.size()), EntriesOf(record));
      author.author = EventView(record).pubkey();
    });
    if (!read.ok() || sample.size() == 0) return read;
    author.amount = sample.Of(candidate.events, candidate.events);
    census_.sampled += sample.size();
    census_.authors.push_back(author);
    return {};
  }

  Status CountTags() {
    std::array<uint64_t, 256> letters{};
    Largest<TagRun> largest(options_.most_rows);
    TagRun run;
    std::string range;
    const auto finish = [&] {
      letters[static_cast<uint8_t>(run.letter)] += run.entries;
      if (run.entries > 0) largest.Add(static_cast<double>(run.entries), run);
    };
    Status walked = Walk("t", [&](std::string_view key) {
      IndexEntry entry;
      if (!ReadEntry(key, kTagRange, &entry)) return true;
      if (const std::string_view prefix = key.substr(0, kTagRange - 2); prefix != range) {
        finish();
        range = prefix;
        run = {.letter = key[1], .hash = ReadNumber(key.data() + 2, 8)};
      }
      ++run.entries;
      run.serial = entry.serial;
      return true;
    });
    if (!walked.ok()) return walked;
    finish();
    for (size_t letter = 0; letter < letters.size(); ++letter)
      if (letters[letter] > 0) census_.letters.push_back({static_cast<char>(letter), letters[letter]});
    std::ranges::stable_sort(census_.letters, std::greater<>(), &Census::OfLetter::entries);
    for (const TagRun& tag : std::move(largest).Take())
      if (Status named = NameTag(tag); !named.ok()) return named;
    return {};
  }

  Status NameTag(const TagRun& run) {
    Census::OfTag named{.letter = run.letter, .value = "", .entries = run.entries};
    Status read = ReadRecords({run.serial}, [&](std::string_view record) {
      for (const TagView tag : EventView(record).tags())
        if (tag.letter == run.letter && TagHash(tag.value) == run.hash) named.value = tag.value;
    });
    if (read.ok()) census_.tags.push_back(std::move(named));
    return read;
  }

  rocksdb::DB& db_;
  const CensusOptions& options_;
  rocksdb::ColumnFamilyHandle* events_ = nullptr;
  rocksdb::ColumnFamilyHandle* index_ = nullptr;
  rocksdb::ColumnFamilyHandle* search_ = nullptr;  // null if there is no index of words
  rocksdb::ReadOptions read_;
  std::minstd_rand random_;
  std::vector<Amount> typical_ = std::vector<Amount>(KindSet::kKinds);  // one event of each kind
  Arrivals arrivals_;
  Census census_;
};

}  // namespace

Result<Census> TakeRocksDbCensus(const RocksDbStore& store, const CensusOptions& options) {
  const Result<Moment> now = store.Now();
  if (!now.ok()) return now.status();
  return RocksDbCensusTaker(store, options, now.value().NumberOf(0)).Take();
}

}  // namespace weir
