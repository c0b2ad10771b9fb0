#include "relay/store/record_lookup.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace weir {
namespace {

// An iterator passes six records while a lookup finds one, and its first seek takes as long as four lookups.
constexpr uint64_t kWidestGap = 6;
constexpr ptrdiff_t kShortestRun = 6;

}  // namespace

Status RecordLookup::Run(const Database& database, const rocksdb::ReadOptions& options) {
  values_.assign(serials_.size(), std::nullopt);
  FindCached(database.record_cache());
  std::sort(missing_.begin(), missing_.end(), [](const Missing& a, const Missing& b) { return a.serial < b.serial; });
  std::unique_ptr<rocksdb::Iterator> at;
  std::vector<Missing> alone;
  const auto far = [](const Missing& a, const Missing& b) { return b.serial - a.serial > kWidestGap; };
  for (auto run = missing_.begin(); run != missing_.end();) {
    auto end = std::adjacent_find(run, missing_.end(), far);
    if (end != missing_.end()) ++end;
    if (end - run < kShortestRun) {
      alone.insert(alone.end(), run, end);
    } else {
      if (!at) at.reset(database.db()->NewIterator(options, database.events()));
      if (Status passed = Pass({run, end}, at.get()); !passed.ok()) return passed;
    }
    run = end;
  }
  if (Status got = Get(alone, database, options); !got.ok()) return got;
  if (options.fill_cache)
    for (const Missing& missing : missing_)
      if (const auto& value = values_[missing.slot]) database.record_cache().Keep(missing.serial, *value);
  return {};
}

void RecordLookup::FindCached(const RecordCache& cache) {
  cached_.reserve(serials_.size());
  for (size_t slot = 0; slot < serials_.size(); ++slot) {
    RecordCache::Pin pin = cache.Find(serials_[slot]);
    if (!pin) {
      missing_.push_back({serials_[slot], slot});
      continue;
    }
    values_[slot] = pin.record();
    cached_.push_back(std::move(pin));
  }
}

Status RecordLookup::Pass(std::span<const Missing> run, rocksdb::Iterator* at) {
  at->Seek(ToSlice(EventKey(run.front().serial)));
  for (const Missing& missing : run) {
    const Key key = EventKey(missing.serial);
    while (at->Valid() && ToView(at->key()) < key.view()) at->Next();
    if (!at->Valid()) break;
    if (ToView(at->key()) != key.view()) continue;
    const rocksdb::Slice value = at->value();
    char* const copy = static_cast<char*>(copied_.allocate(value.size(), 1));
    std::memcpy(copy, value.data(), value.size());
    values_[missing.slot] = std::string_view(copy, value.size());
  }
  return at->status().ok() ? Status() : DatabaseError("cannot read the events", at->status());
}

Status RecordLookup::Get(std::span<const Missing> alone, const Database& database,
                         const rocksdb::ReadOptions& options) {
  for (const Missing& missing : alone) got_.Add(EventKey(missing.serial));
  if (Status got = got_.Run(database, database.events(), options); !got.ok()) return got;
  for (size_t i = 0; i < alone.size(); ++i) values_[alone[i].slot] = got_.Value(i);
  return {};
}

void RecordLookup::LetGo() {
  serials_ = std::vector<uint64_t>();
  values_ = std::vector<std::optional<std::string_view>>();
  missing_ = std::vector<Missing>();
  cached_ = std::vector<RecordCache::Pin>();
  got_ = KeyLookup();
  copied_.release();
}

}  // namespace weir
