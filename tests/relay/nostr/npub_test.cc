#include "relay/nostr/npub.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

// The example of NIP-19.
constexpr const char* kHex = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e";
constexpr const char* kNpub = "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg";

TEST(Npub, IsReadAndWrittenAsTheNipSays) {
  const Result<PublicKey> key = ParsePublicKey(kNpub);
  ASSERT_TRUE(key.ok()) << key.status().message();
  EXPECT_EQ(ToHex(key.value()), kHex);
  EXPECT_EQ(ToNpub(key.value()), kNpub);
}

TEST(Npub, HexMayHaveCapitals) {
  std::string hex = kHex;
  hex[1] = 'E';
  const Result<PublicKey> key = ParsePublicKey(hex);
  ASSERT_TRUE(key.ok());
  EXPECT_EQ(ToHex(key.value()), kHex);
}

TEST(Npub, ErrorsSayWhatIsWrong) {
  std::string short_npub = kNpub;
  short_npub.pop_back();
  std::string capital = kNpub;
  capital[10] = 'Q';
  std::string mistyped = kNpub;
  mistyped[20] = mistyped[20] == 'q' ? 'p' : 'q';
  const std::pair<std::string, std::string> cases[] = {
      {"", "expected npub1… or 64 hex digits"},
      {"alice", "expected npub1… or 64 hex digits"},
      {std::string(kHex) + "0", "expected npub1… or 64 hex digits"},
      {std::string(63, 'a') + "g", "expected npub1… or 64 hex digits"},
      {short_npub, "an npub has 63 characters, not 62"},
      {capital, "no capitals"},
      {mistyped, "its checksum does not match"},
      {"nsec1abc", "a secret key"},
  };
  for (const auto& [text, part] : cases) {
    const Result<PublicKey> key = ParsePublicKey(text);
    ASSERT_FALSE(key.ok()) << text;
    EXPECT_TRUE(Has(key.status().message(), part)) << text << ": " << key.status().message();
  }
}

TEST(Npub, ASecretKeyIsNeverPrinted) {
  EXPECT_EQ(PrintableKey("nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"), "nsec1…");
  EXPECT_EQ(PrintableKey("alice"), "alice");
}

RC_GTEST_PROP(NpubProperty, EveryKeyComesBackAndNoMistypedOneIsRead, (PublicKey key)) {
  std::string npub = ToNpub(key);
  const Result<PublicKey> read = ParsePublicKey(npub);
  RC_ASSERT(read.ok());
  RC_ASSERT(read.value() == key);
  const auto at = *rc::gen::inRange<size_t>(5, npub.size());
  const char other = *rc::gen::elementOf(std::string("qpzry9x8gf2tvdw0s3jn54khce6mua7l"));
  RC_PRE(other != npub[at]);
  npub[at] = other;
  RC_ASSERT(!ParsePublicKey(npub).ok());
}

}  // namespace
}  // namespace weir
