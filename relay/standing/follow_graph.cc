#include "relay/standing/follow_graph.h"

#include <algorithm>
#include <span>
#include <vector>

#include "config/text/hex.h"

namespace weir {
namespace {

constexpr size_t kAuthorsOfAQuery = 100;
constexpr uint8_t kLastStep = 3;

// Returns the keys that the author of the list follows, each once, without the author.
std::vector<PublicKey> FollowedBy(EventView list) {
  std::vector<PublicKey> keys;
  for (const TagView tag : list.tags()) {
    PublicKey key;
    if (tag.letter == 'p' && FromHex(tag.value, key.data(), key.size()) && key != list.pubkey()) keys.push_back(key);
  }
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace

Result<uint64_t> FindFollows(BulkReads& reads, std::span<const PublicKey> own_list, uint64_t now_seconds,
                             AuthorTable* reached) {
  std::vector<PublicKey> nearer(own_list.begin(), own_list.end());
  for (const PublicKey& key : nearer)
    reached->Change(key, now_seconds, [](AuthorRecord& record) { record.follow_steps = 1; });
  uint64_t lists = 0;
  for (uint8_t step = 2; step <= kLastStep; ++step) {
    std::vector<PublicKey> next;
    std::ranges::sort(nearer);
    for (std::span<const PublicKey> left = nearer; !left.empty();) {
      const auto authors = left.first(std::min(kAuthorsOfAQuery, left.size()));
      left = left.subspan(authors.size());
      Filter filter;
      filter.authors.emplace(authors.begin(), authors.end());
      filter.kinds = {kFollowsKind};
      const Result<bool> read = reads.Read(
          {std::move(filter)}, {.now_seconds = now_seconds, .default_limit = kAuthorsOfAQuery, .fills_cache = false},
          UINT64_MAX, [&](EventView list) {
            ++lists;
            for (const PublicKey& key : FollowedBy(list)) {
              reached->Change(key, now_seconds, [&](AuthorRecord& record) {
                if (record.follow_steps == 0 && step < kLastStep) next.push_back(key);
                if (record.follow_steps == 0) record.follow_steps = step;
                if (record.follow_steps == step && record.followers < UINT8_MAX) ++record.followers;
              });
            }
          });
      if (!read.ok()) return read.status();
    }
    nearer = std::move(next);
  }
  return lists;
}

}  // namespace weir
