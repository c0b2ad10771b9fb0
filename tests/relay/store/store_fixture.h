// A store in a directory that is removed when the test ends.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "relay/store/rocksdb_store.h"
#include "tests/fixtures/plain_event.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {

inline StoreOptions SmallStore(const std::string& path) {
  StoreOptions options;
  options.path = path;
  options.memory_target_bytes = 256ull << 20;
  options.settings.sync = SyncMode::kOff;
  options.own_urls = {"wss://weir.example"};
  return options;
}

inline std::unique_ptr<RocksDbStore> MustOpen(const StoreOptions& options) {
  Result<std::unique_ptr<RocksDbStore>> store = RocksDbStore::Open(options);
  EXPECT_TRUE(store.ok()) << store.status().message();
  return store.ok() ? std::move(store).value() : nullptr;
}

inline std::vector<SaveOutcome> SaveAll(EventStore& store, const std::vector<PlainEvent>& events,
                                        uint64_t now_seconds = 0) {
  std::vector<Event> records;
  for (const PlainEvent& event : events) records.push_back(ToEvent(event));
  std::vector<SaveResult> results(events.size());
  const Status status = store.Save(records, now_seconds, results);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<SaveOutcome> outcomes;
  for (const SaveResult& result : results) outcomes.push_back(result.outcome);
  return outcomes;
}

// Returns all remaining results of a query. Calls `between` after each slice that had results.
inline std::vector<std::string> Drain(
    Query& query, const Slice& slice = {}, const std::function<void(Query&)>& between = [](Query&) {}) {
  std::vector<std::string> ids;
  while (true) {
    const size_t before = ids.size();
    const Result<Progress> progress = query.Next(slice, [&](EventView event) { ids.push_back(ToHex(event.id())); });
    EXPECT_TRUE(progress.ok()) << progress.status().message();
    if (!progress.ok() || progress.value() == Progress::kDone) return ids;
    if (ids.size() > before) between(query);
  }
}

inline std::vector<std::string> StoredIds(const EventStore& store) {
  std::vector<std::string> ids;
  const Status status = store.ScanAll({}, store.Now().value(), [&](Serial, EventView event) {
    ids.push_back(ToHex(event.id()));
    return true;
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return ids;
}

}  // namespace weir
