// AuthorTable: the records of authors by their keys, in bounded memory: about 80 bytes an author.
//
// The table has a most number of authors. When it is full, a new author takes the place of another: among the next
// kCandidates authors in turn that may give way, the one with the fewest points, and of these the one that was seen
// longest ago. Authors that follows reach never give way. An author that is at least a newcomer and was seen in the
// last 90 days gives way only to an author that follows reach. If none of the next kVisits authors may give way, the
// new author is not remembered. So keys without number displace only strangers.
//
// The table consists of shards, each with a lock. Strangers cannot choose keys that share a shard or a place, because
// the hash has a random seed.
//
// Threads: any thread may call any function. The functions that are passed in run while a shard is locked, so they must
// be short and must not call the table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/mutex.h"
#include "relay/nostr/event.h"
#include "relay/standing/standing.h"

namespace weir {

class AuthorTable {
 public:
  static constexpr size_t kShards = 64;
  static constexpr size_t kCandidates = 16;
  static constexpr size_t kVisits = 64;
  static constexpr uint64_t kKeptSeconds = 90 * 86'400;

  explicit AuthorTable(uint64_t most_authors) : most_in_shard_((most_authors + kShards - 1) / kShards) {}

  std::optional<AuthorRecord> Find(const PublicKey& author) const {
    const uint64_t hash = HashOf(author);
    const Shard& shard = ShardOf(hash);
    const MutexLock lock(shard.mutex);
    const size_t place = shard.PlaceOf(author, hash);
    if (place == kNowhere) return std::nullopt;
    return shard.entries[shard.places[place] - 1].record;
  }

  // Calls `change(record)` for the record of the author, which is a new one if the author is not known. Returns false,
  // and calls nothing, if there is no room for a new author. `is_followed` says that follows reach the author.
  template <typename Do>
  bool Change(const PublicKey& author, uint64_t now_seconds, Do&& change, bool is_followed = false) {
    const uint64_t hash = HashOf(author);
    Shard& shard = shards_[hash >> kShardShift];
    const MutexLock lock(shard.mutex);
    AuthorRecord* const record = FindOrAdd(shard, author, hash, now_seconds, is_followed);
    if (record != nullptr) change(*record);
    return record != nullptr;
  }

  // Calls `visit(author, record)` for each author of a shard, and may change the records.
  template <typename Do>
  void ForEachOf(size_t shard_index, Do&& visit) {
    Shard& shard = shards_[shard_index];
    const MutexLock lock(shard.mutex);
    for (Entry& entry : shard.entries) visit(entry.author, entry.record);
  }
  template <typename Do>
  void ForEach(Do&& visit) {
    for (size_t shard = 0; shard < kShards; ++shard) ForEachOf(shard, visit);
  }

  uint64_t bytes() const;

 private:
  static constexpr unsigned kShardShift = 58;
  static_assert(kShards == size_t{1} << (64 - kShardShift));
  static constexpr size_t kNowhere = SIZE_MAX;

  struct Entry {
    PublicKey author{};
    AuthorRecord record;
  };
  static_assert(sizeof(Entry) == 60);

  // Entries in no order, and a hash table of their numbers with linear probing.
  struct Shard {
    size_t PlaceOf(const PublicKey& author, uint64_t hash) const WEIR_REQUIRES(mutex);
    void Put(uint64_t hash, uint32_t number) WEIR_REQUIRES(mutex);
    void Take(size_t place) WEIR_REQUIRES(mutex);
    void GrowPlaces() WEIR_REQUIRES(mutex);
    Entry* GivesWay(uint64_t now_seconds, bool to_any) WEIR_REQUIRES(mutex);

    mutable Mutex mutex;
    std::vector<Entry> entries WEIR_GUARDED_BY(mutex);
    std::vector<uint32_t> places WEIR_GUARDED_BY(mutex);  // the number of an entry, from 1; 0: the place is free
    size_t next WEIR_GUARDED_BY(mutex) = 0;               // the index of the next candidate for giving way
  };

  static uint64_t HashOf(const PublicKey& author);
  const Shard& ShardOf(uint64_t hash) const { return shards_[hash >> kShardShift]; }
  AuthorRecord* FindOrAdd(Shard& shard, const PublicKey& author, uint64_t hash, uint64_t now_seconds, bool is_followed)
      WEIR_REQUIRES(shard.mutex);

  const size_t most_in_shard_;
  std::array<Shard, kShards> shards_;
};

}  // namespace weir
