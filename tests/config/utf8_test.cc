#include "config/text/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace weir {
namespace {

TEST(Utf8, TextsAreCutBetweenCharacters) {
  const std::tuple<std::string_view, size_t, std::string_view> cases[] = {
      {"", 0, ""},
      {"", 3, ""},
      {"abc", 0, ""},
      {"abc", 2, "ab"},
      {"abc", 3, "abc"},
      {"abc", 9, "abc"},
      {"\u00e9\u20ac\U0001F600!", 0, ""},
      {"\u00e9\u20ac\U0001F600!", 1, "\u00e9"},
      {"\u00e9\u20ac\U0001F600!", 2, "\u00e9\u20ac"},
      {"\u00e9\u20ac\U0001F600!", 3, "\u00e9\u20ac\U0001F600"},
      {"\xe9\xff", 1, "\xe9"}};
  for (const auto& [text, count, beginning] : cases) EXPECT_EQ(FirstCharacters(text, count), beginning) << count;
}

TEST(Utf8, CharactersAreCountedNotBytes) {
  const std::pair<std::string_view, size_t> cases[] = {
      {"", 0}, {"abc", 3}, {"\u00e9\u20ac\U0001F600!", 4}, {"█░…", 3}, {"\xe9\xff", 2}};
  for (const auto& [text, count] : cases) EXPECT_EQ(CharactersIn(text), count) << text;
}

TEST(Utf8, AppendedCharactersAreReadBack) {
  for (const char32_t c : {U'a', U'\u007f', U'\u0080', U'\u07ff', U'\u0800', U'\uffff', U'\U00010000', U'\U0010ffff'}) {
    std::string text;
    AppendUtf8(c, &text);
    EXPECT_EQ(Utf8Length(text), text.size());
    EXPECT_EQ(Utf8Character(text), c);
  }
}

}  // namespace
}  // namespace weir
