// Keys from what a terminal sends.
#include "relay/watch/top/terminal_keys.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir {
namespace {

std::vector<KeyPress> KeysOf(const std::string& bytes) {
  KeyReader reader;
  return reader.Take(bytes);
}

TEST(Keys, AreLettersArrowsAndPages) {
  using Kind = KeyPress::Kind;
  std::vector<KeyPress> expected = {{.character = 'q'}};
  for (const Kind kind : {Kind::kUp, Kind::kDown, Kind::kLeft, Kind::kRight, Kind::kPageUp, Kind::kPageDown,
                          Kind::kHome, Kind::kEnd, Kind::kHome, Kind::kUp})
    expected.push_back({.kind = kind});
  expected.push_back({.character = '1'});
  const std::string bytes =
      "q\x1b[A\x1bOB\x1b[D\x1b[C\x1b[5~\x1b[6~\x1b[H\x1b[4~\x1b[1~\x1b[1;5A"
      "1";
  EXPECT_EQ(KeysOf(bytes), expected);
  KeyReader slow;
  std::vector<KeyPress> keys;
  for (const char c : bytes)
    for (const KeyPress& key : slow.Take({&c, 1})) keys.push_back(key);
  EXPECT_EQ(keys, expected) << "wherever they are cut";
}

TEST(Keys, ACharacterBehindEscapeIsItself) { EXPECT_EQ(KeysOf("\x1bq"), std::vector<KeyPress>{{.character = 'q'}}); }

TEST(Keys, OthersArePassedOver) {
  EXPECT_EQ(KeysOf("\x1b[200~\x1b[Z\x1b\xc3\xa9q"), std::vector<KeyPress>{{.character = 'q'}});
  EXPECT_EQ(KeysOf("\x1b[" + std::string(1000, '1') + "q").back(), KeyPress{.character = 'q'})
      << "it keeps no more of it";
}

}  // namespace
}  // namespace weir
