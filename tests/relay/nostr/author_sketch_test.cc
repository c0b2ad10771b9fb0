// AuthorSketch against NIP-45's steps written out in digits, and what clients learn from the sketches of relays.
#include "relay/nostr/author_sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "config/text/hex.h"
#include "relay/nostr/signature.h"

namespace weir {
namespace {

constexpr const char* kId = "0123456789abcdef0123456789abcdef70123456789abcdef123456789abcdef";

AuthorSketch SketchOf(const std::string& value) {
  const std::vector<Filter> filters = {{.tags = {{'e', {value}}}}};
  return *AuthorSketch::For(filters);
}

class RandomAuthors {
 public:
  explicit RandomAuthors(uint64_t seed) : random_(seed) {}
  PublicKey Next() {
    PublicKey key;
    for (uint8_t& byte : key) byte = static_cast<uint8_t>(random_());
    if (random_() % 8 == 0) key[random_() % key.size()] = 0;  // long rows of zeros
    return key;
  }

 private:
  std::mt19937_64 random_;
};

// NIP-45, step by step, with the key as a text of bits.
class SlowSketch {
 public:
  explicit SlowSketch(size_t offset) : offset_(offset) {}
  void Add(const PublicKey& author) {
    std::string bits;
    for (const uint8_t byte : author)
      for (int bit = 7; bit >= 0; --bit) bits += (byte >> bit & 1) != 0 ? '1' : '0';
    size_t zeros = 0;
    while (zeros < 56 && bits[8 * (offset_ + 1) + zeros] == '0') ++zeros;
    uint8_t& most = registers_[author[offset_]];
    if (zeros + 1 > most) most = static_cast<uint8_t>(zeros + 1);
  }
  std::string ToHex() const { return weir::ToHex(registers_.data(), registers_.size()); }

 private:
  size_t offset_;
  std::vector<uint8_t> registers_ = std::vector<uint8_t>(256);
};

// Returns the registers that a client makes of those of two relays.
std::string Merged(const std::string& a, const std::string& b) {
  std::vector<uint8_t> left(256);
  std::vector<uint8_t> right(256);
  EXPECT_TRUE(FromHex(a, left.data(), left.size()) && FromHex(b, right.data(), right.size()));
  for (size_t i = 0; i < left.size(); ++i) left[i] = std::max(left[i], right[i]);
  return ToHex(left.data(), left.size());
}

// The estimate of Flajolet et al., with linear counting for few authors, as the programs of NIP-45's author have it.
double AuthorsIn(const std::string& hex) {
  std::vector<uint8_t> registers(256);
  EXPECT_TRUE(FromHex(hex, registers.data(), registers.size()));
  double sum = 0;
  double empty = 0;
  for (const uint8_t value : registers) {
    sum += std::ldexp(1.0, -value);
    if (value == 0) ++empty;
  }
  const double estimate = 0.7182725932495458 * 256 * 256 / sum;
  return empty > 0 && estimate <= 2.5 * 256 ? 256 * std::log(256 / empty) : estimate;
}

TEST(AuthorSketch, TakesItsPositionFromTheTagsValue) {
  const std::string key = std::string(32, '0') + "a" + std::string(31, '0');
  const Bytes32 hash = Sha256("bitcoin");
  const struct {
    std::string value;
    size_t offset;
  } cases[] = {
      {kId, 8 + 7},
      {std::string(64, 'f'), 8 + 15},
      {std::string(64, '0'), 8},
      {"30023:" + key + ":", 8 + 10},
      {"30023:" + key + ":a title: with colons", 8 + 10},
      {"bitcoin", 8 + static_cast<size_t>(hash[16] >> 4)},
  };
  for (const auto& c : cases) EXPECT_EQ(SketchOf(c.value).offset(), c.offset) << c.value;
  // These are neither ids nor addresses, so their hashes count.
  for (const std::string& value : {std::string(), std::string(64, 'F'), key + "0", "30023:" + key, "x:" + key + ":d",
                                   ":" + key + ":d", "30023:" + std::string(64, 'g') + ":d"})
    EXPECT_EQ(SketchOf(value).offset(), 8U + static_cast<size_t>(Sha256(value)[16] >> 4)) << value;
}

TEST(AuthorSketch, OnlyAFilterWithOneTagValueHasOne) {
  const Filter likes{.kinds = {{7}}, .tags = {{'e', {kId}}}};
  const Filter limited{.authors = {{PublicKey{}}}, .tags = {{'p', {kId}}}, .since = 1, .until = 2};
  const Filter two_values{.tags = {{'e', {"a", "b"}}}};
  const Filter two_tags{.tags = {{'e', {"a"}}, {'p', {"b"}}}};
  const auto has_one = [](const std::vector<Filter>& filters) { return AuthorSketch::For(filters).has_value(); };
  EXPECT_TRUE(has_one({likes}));
  EXPECT_TRUE(has_one({limited}));
  EXPECT_FALSE(has_one({}));
  EXPECT_FALSE(has_one({Filter{}}));
  EXPECT_FALSE(has_one({Filter{.kinds = {{1}}}}));
  EXPECT_FALSE(has_one({two_values}));
  EXPECT_FALSE(has_one({two_tags}));
  EXPECT_FALSE(has_one({Filter{.tags = {{'e', {}}}}}));
  EXPECT_FALSE(has_one({likes, likes}));
}

TEST(AuthorSketch, FillsTheRegistersOfNip45) {
  for (size_t digit = 0; digit < 16; ++digit) {
    const std::string value = std::string(32, '0') + "0123456789abcdef"[digit] + std::string(31, '0');
    AuthorSketch sketch = SketchOf(value);
    SlowSketch slow(8 + digit);
    EXPECT_EQ(sketch.ToHex(), std::string(512, '0'));
    RandomAuthors authors(digit);
    for (int i = 0; i < 500; ++i) {
      const PublicKey author = authors.Next();
      sketch.Add(author);
      sketch.Add(author);
      slow.Add(author);
    }
    PublicKey zeros{};
    sketch.Add(zeros);
    slow.Add(zeros);
    EXPECT_EQ(sketch.ToHex(), slow.ToHex());
    EXPECT_EQ(sketch.ToHex().substr(0, 2), "39") << "57: there are 56 bits";
  }
}

TEST(AuthorSketch, TwoRelaysMergedEqualTheirUnion) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    AuthorSketch here = SketchOf(kId);
    AuthorSketch there = SketchOf(kId);
    AuthorSketch both = SketchOf(kId);
    RandomAuthors authors(seed);
    for (uint64_t i = 0; i < 20 * (seed + 1); ++i) {
      const PublicKey author = authors.Next();
      if (i % 3 != 0) here.Add(author);
      if (i % 3 != 1) there.Add(author);
      both.Add(author);
    }
    EXPECT_EQ(Merged(here.ToHex(), there.ToHex()), both.ToHex());
    EXPECT_EQ(Merged(here.ToHex(), here.ToHex()), here.ToHex()) << "a relay that is asked twice adds nothing";
  }
}

// Each set has other authors. The error of one set is 6.5 % in theory (one standard deviation), the mean amount 5.2 %.
TEST(AuthorSketch, EstimatesAMillionAuthorsWithinItsStandardError) {
  constexpr int kSets = 40;
  for (const int authors : {100, 10'000, 1'000'000}) {
    std::mt19937_64 random(static_cast<uint64_t>(authors));
    double amount = 0;
    double bias = 0;
    double squares = 0;
    for (int set = 0; set < kSets; ++set) {
      AuthorSketch sketch = SketchOf(kId);
      PublicKey author{};
      for (int i = 0; i < authors; ++i) {
        const uint64_t bits = random();
        std::memcpy(author.data() + sketch.offset(), &bits, sizeof bits);
        sketch.Add(author);
      }
      const double error = AuthorsIn(sketch.ToHex()) / authors - 1;
      amount += std::abs(error) / kSets;
      bias += error / kSets;
      squares += error * error / kSets;
    }
    RecordProperty("mean_error_of_" + std::to_string(authors), std::to_string(amount));
    std::printf("%7d authors: mean amount of the error %.1f %%, root mean square %.1f %%, mean %+.1f %%\n", authors,
                100 * amount, 100 * std::sqrt(squares), 100 * bias);
    EXPECT_LT(amount, 0.065) << authors;
    EXPECT_LT(std::sqrt(squares), 0.085) << authors;
    EXPECT_LT(std::abs(bias), 0.03) << authors;
  }
}

}  // namespace
}  // namespace weir
