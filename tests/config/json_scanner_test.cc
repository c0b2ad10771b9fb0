// The texts of values that a scanner moves past. tests/relay/nostr has the tests of its grammar.
#include "config/text/json_scanner.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace weir {
namespace {

TEST(JsonScanner, ReturnsTheTextOfAValue) {
  JsonScanner scanner(R"( {"a":[1, 2]} ,7)");
  std::string_view value;
  ASSERT_TRUE(scanner.ReadValue(&value));
  EXPECT_EQ(value, R"({"a":[1, 2]})");
  EXPECT_TRUE(scanner.Take(','));
  ASSERT_TRUE(scanner.ReadValue(&value));
  EXPECT_EQ(value, "7");
  EXPECT_FALSE(scanner.ReadValue(&value));
}

TEST(JsonScanner, ReturnsTheTextsOfAList) {
  using Items = std::vector<std::string_view>;
  Items items{"from before"};
  EXPECT_TRUE(JsonScanner("[]").ReadList(&items));
  EXPECT_EQ(items, Items());
  EXPECT_TRUE(JsonScanner(R"( [1 , "a,]",[null] ])").ReadList(&items));
  EXPECT_EQ(items, (Items{"1", R"("a,]")", "[null]"}));
  for (const char* wrong : {"", "{}", "[1", "[1,]", "[1 2]", "[x]", "1"})
    EXPECT_FALSE(JsonScanner(wrong).ReadList(&items)) << wrong;
}

}  // namespace
}  // namespace weir
