#include "relay/standing/author_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "relay/nostr/signature.h"

namespace weir {
namespace {

constexpr uint64_t kNow = 1'700'000'000;

PublicKey Key(uint64_t number) { return Sha256("key " + std::to_string(number)); }
// A regular that was just seen.
void MakeRegular(AuthorRecord& record) {
  record = {.first_seen = kNow - uint64_t{30} * 86'400, .last_seen = kNow, .active_days = 10};
}
uint64_t CountOf(AuthorTable& table) {
  uint64_t count = 0;
  table.ForEach([&count](const PublicKey&, const AuthorRecord&) { ++count; });
  return count;
}

RC_GTEST_PROP(AuthorTableProperty, RemembersAsAMapDoes, (const std::vector<std::pair<uint8_t, uint32_t>>& notes)) {
  AuthorTable table(1'000'000);
  std::map<PublicKey, uint32_t> model;
  for (const auto& [author, number] : notes) {
    RC_ASSERT(table.Change(Key(author), kNow, [n = number](AuthorRecord& r) { r.accepted ^= n; }));
    model[Key(author)] ^= number;
  }
  for (uint64_t author = 0; author < 256; ++author) {
    const std::optional<AuthorRecord> found = table.Find(Key(author));
    RC_ASSERT(found.has_value() == model.contains(Key(author)));
    if (found) RC_ASSERT(found->accepted == model[Key(author)]);
  }
  RC_ASSERT(CountOf(table) == model.size());
}

// Fills a shard-sized table again and again; every author that the table still has must be found, and no other.
RC_GTEST_PROP(AuthorTableProperty, AFullTableFindsThoseThatItVisits, (const std::vector<uint16_t>& authors)) {
  AuthorTable table(AuthorTable::kShards * 3);
  for (const uint16_t author : authors) table.Change(Key(author), kNow, [](AuthorRecord& r) { ++r.accepted; });
  std::map<PublicKey, uint32_t> visited;
  table.ForEach([&](const PublicKey& author, const AuthorRecord& r) { visited[author] = r.accepted; });
  RC_ASSERT(visited.size() <= AuthorTable::kShards * 3);
  for (const uint16_t author : authors) {
    const std::optional<AuthorRecord> found = table.Find(Key(author));
    RC_ASSERT(found.has_value() == visited.contains(Key(author)));
  }
}

TEST(AuthorTable, TakesLessThanAHundredBytesAnAuthor) {
  for (const uint64_t count : {20'000U, 47'000U, 50'000U, 100'000U}) {
    AuthorTable table(1'000'000);
    for (uint64_t i = 0; i < count; ++i) table.Change(Key(i), kNow, [](AuthorRecord&) {});
    EXPECT_LE(table.bytes(), 100 * count) << count;
  }
}

TEST(AuthorTable, KeysWithoutNumberDisplaceOnlyStrangers) {
  constexpr uint64_t kMost = 6'400;
  constexpr uint64_t kHighRungs = 2'000;
  AuthorTable table(kMost);
  for (uint64_t i = 0; i < kHighRungs; ++i) {
    table.Change(Key(i), kNow, [i](AuthorRecord& r) {
      if (i % 2 == 0) return MakeRegular(r);
      r.follow_steps = static_cast<uint8_t>(1 + i % 3);
    });
  }
  for (uint64_t i = 100'000; i < 150'000; ++i)
    table.Change(Key(i), kNow, [](AuthorRecord& r) { r.first_seen = r.last_seen = kNow; });
  for (uint64_t i = 0; i < kHighRungs; ++i) ASSERT_TRUE(table.Find(Key(i))) << i;
  EXPECT_EQ(CountOf(table), kMost);
  EXPECT_TRUE(table.Find(Key(149'999)));
  EXPECT_FALSE(table.Find(Key(100'000))) << "the oldest strangers give way";
}

TEST(AuthorTable, AnAuthorThatWasLongAwayGivesWay) {
  AuthorTable table(AuthorTable::kShards);
  uint64_t kept = 0;
  for (uint64_t i = 0; i < 1'000; ++i) kept += table.Change(Key(i), kNow, MakeRegular) ? 1 : 0;
  EXPECT_EQ(kept, AuthorTable::kShards) << "each shard has room for one, and regulars keep it";
  EXPECT_FALSE(table.Change(Key(5'000), kNow + AuthorTable::kKeptSeconds - 1, [](AuthorRecord&) { FAIL(); }));
  EXPECT_TRUE(table.Change(Key(5'000), kNow + AuthorTable::kKeptSeconds, [](AuthorRecord&) {}));
  EXPECT_EQ(CountOf(table), AuthorTable::kShards);
}

TEST(AuthorTable, AnAuthorThatIsFollowedTakesAPlaceFromAny) {
  AuthorTable table(AuthorTable::kShards);
  for (uint64_t i = 0; i < 1'000; ++i) table.Change(Key(i), kNow, MakeRegular);
  EXPECT_TRUE(table.Change(
      Key(5'000), kNow, [](AuthorRecord& r) { r.follow_steps = 2; }, true));
  EXPECT_EQ(table.Find(Key(5'000))->follow_steps, 2);
  bool displaced = false;
  for (uint64_t i = 5'001; i < 6'000; ++i)
    displaced = !table.Change(
                    Key(i), kNow, [](AuthorRecord& r) { r.follow_steps = 2; }, true) ||
                displaced;
  EXPECT_TRUE(displaced) << "a table that is full of followed authors has no room";
  EXPECT_TRUE(table.Find(Key(5'000))) << "and they do not displace each other";
}

}  // namespace
}  // namespace weir
