#include "relay/store/moment_text.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

Moment Of(const std::vector<Serial>& serials) {
  Moment moment;
  for (const Serial& serial : serials) moment.Advance(serial);
  return moment;
}

TEST(MomentText, ReadsBackAsTheSame) {
  const std::pair<Moment, const char*> cases[] = {
      {Of({}), "0"},
      {Of({{.origin = 0, .number = 1234}}), "1234"},
      {Of({{.origin = 3, .number = 120}}), "3:120"},
      {Of({{.origin = 7, .number = 88}, {.origin = 0, .number = 1}}), "0:1,7:88"},
  };
  for (const auto& [moment, text] : cases) {
    EXPECT_EQ(ToText(moment), text);
    const Result<Moment> read = ParseSerials(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(read.value().last(), moment.last()) << text;
  }
}

TEST(MomentText, RefusesAllElse) {
  for (const char* text :
       {"", "x", "-1", "1,2", "3:", ":4", "3:4,", "3:4,5", "3:4:5", "99999999999:1", "18446744073709551616"})
    EXPECT_FALSE(ParseSerials(text).ok()) << text;
}

}  // namespace
}  // namespace weir
