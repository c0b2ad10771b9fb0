#include "relay/standing/follow_graph.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

constexpr uint64_t kNow = 1'700'000'000;

class FollowGraphTest : public testing::Test {
 protected:
  void Follow(uint64_t author, const std::vector<std::string>& keys) {
    std::vector<Tag> tags;
    for (const std::string& key : keys) tags.push_back({"p", key});
    SaveAll(*store_, {Plain(Author(author), kNow, 3, tags)}, kNow);
  }
  uint64_t Find(std::vector<uint64_t> own_list, AuthorTable* reached) {
    std::vector<PublicKey> keys;
    for (const uint64_t author : own_list) keys.push_back(ToBytes(Author(author)));
    BulkReads reads(*store_, nullptr);
    const Result<uint64_t> lists = FindFollows(reads, keys, kNow, reached);
    EXPECT_TRUE(lists.ok()) << lists.status().message();
    return lists.ok() ? lists.value() : 0;
  }
  static std::pair<int, int> StepsAndFollowers(const AuthorTable& reached, uint64_t author) {
    const AuthorRecord record = reached.Find(ToBytes(Author(author))).value_or(AuthorRecord{});
    return {record.follow_steps, record.followers};
  }

  const TempDirectory directory_;
  const std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "db"));
};

TEST_F(FollowGraphTest, AListCountsEachKeyOnceAndNotItsAuthor) {
  Follow(1, {Author(2), Author(2), Author(1), "not a key", "", Author(2)});
  AuthorTable reached(1'000);
  EXPECT_EQ(Find({1}, &reached), 1U);
  EXPECT_EQ(StepsAndFollowers(reached, 1), std::pair(1, 0));
  EXPECT_EQ(StepsAndFollowers(reached, 2), std::pair(2, 1));
}

TEST_F(FollowGraphTest, WithoutAnOwnListNobodyIsReached) {
  for (uint64_t author = 0; author < 50; ++author) Follow(author, {Author(author + 1), Author(0)});
  AuthorTable reached(1'000);
  EXPECT_EQ(Find({}, &reached), 0U);
  reached.ForEach([](const PublicKey&, const AuthorRecord&) { FAIL(); });
}

TEST_F(FollowGraphTest, TheTableBoundsTheKeys) {
  std::vector<std::string> many;
  for (uint64_t author = 10; author < 1'010; ++author) many.push_back(Author(author));
  Follow(1, {Author(2)});
  Follow(2, many);
  AuthorTable reached(320);
  EXPECT_EQ(Find({1}, &reached), 2U);
  uint64_t keys = 0;
  reached.ForEach([&keys](const PublicKey&, const AuthorRecord&) { ++keys; });
  EXPECT_LE(keys, 320U);
  EXPECT_EQ(StepsAndFollowers(reached, 2), std::pair(2, 1));
}

TEST_F(FollowGraphTest, AgreesWithASearchOfTheWholeGraph) {
  constexpr uint64_t kAuthors = 300;
  std::mt19937 random(1);
  std::map<uint64_t, std::set<uint64_t>> follows;
  for (uint64_t author = 0; author < kAuthors; ++author) {
    for (uint64_t i = random() % 6; i > 0; --i) follows[author].insert(random() % kAuthors);
    follows[author].erase(author);
    std::vector<std::string> keys;
    for (const uint64_t key : follows[author]) keys.push_back(Author(key));
    Follow(author, keys);
  }
  std::map<uint64_t, std::pair<int, int>> expected = {{0, {1, 0}}, {1, {1, 0}}};
  for (int step = 2; step <= 3; ++step) {
    const std::map<uint64_t, std::pair<int, int>> before = expected;
    for (const auto& [author, found] : before) {
      if (found.first != step - 1) continue;
      for (const uint64_t key : follows[author])
        if (!before.contains(key)) expected[key] = {step, expected[key].second + 1};
    }
  }
  AuthorTable reached(10'000);
  Find({0, 1}, &reached);
  for (uint64_t author = 0; author < kAuthors; ++author) {
    const auto found = expected.find(author);
    EXPECT_EQ(StepsAndFollowers(reached, author), found == expected.end() ? std::pair(0, 0) : found->second) << author;
  }
}

}  // namespace
}  // namespace weir
