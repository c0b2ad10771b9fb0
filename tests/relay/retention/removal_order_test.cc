// Orders to remove events: what is read, what is refused, and that a written order is read back.
#include "relay/retention/removal_order.h"

#include <gtest/gtest.h>

#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

TEST(RemovalOrderTest, ReadsWhatItWrites) {
  RemovalOrder order{.filters = {Filter{.kinds = {{7}}}, Filter{.tags = {{'t', {"a\"b", "é"}}}, .since = 5}}};
  for (const bool more : {false, true}) {
    if (more) {
      order.older_than_seconds = 86'400;
      order.all = true;
      order.counted = 12;
    }
    const Result<RemovalOrder> read = ReadRemovalOrder(ToJson(order));
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read.value().filters, order.filters);
    EXPECT_EQ(read.value().older_than_seconds, order.older_than_seconds);
    EXPECT_EQ(read.value().all, more);
    EXPECT_EQ(read.value().counted, order.counted);
    EXPECT_FALSE(read.value().dry_run);
  }
  EXPECT_TRUE(ReadRemovalOrder(R"({"filters":[{"kinds":[1]}],"dry_run":true})").value().dry_run);
}

TEST(RemovalOrderTest, SaysWhatIsWrong) {
  const struct {
    const char* json;
    const char* part_of_error;
  } cases[] = {
      {"[]", "the removal is wrong: "},
      {R"({"filters":[{"kinds":[1]}]} x)", "there is text behind it"},
      {R"({"filters":[{"kinds":[1]}])", "the removal is wrong: "},
      {"{}", "filters are missing"},
      {R"({"filters":[]})", "filters are missing"},
      {R"({"filters":{}})", "\"filters\" "},
      {R"({"filters":[{"kinds":[1]},{"kinds":1}]})", "\"filters\" [1] is wrong: "},
      {R"({"filters":[{"kinds":[1]}],"older_than_s":"1d"})", "\"older_than_s\" must be a whole number, not \"1d\""},
      {R"({"filters":[{"kinds":[1]}],"dry_run":1})", "\"dry_run\" must be true or false"},
      {R"({"filters":[{"kinds":[1]}],"dryrun":true})", "\"dryrun\" is unknown"},
      {R"({"filters":[{"kinds":[1]}],"dry_run":true,"counted":1})", "\"counted\" has no effect"},
      {R"({"filters":[{"kinds":[1]},{}]})", "matches every event"},
      {"{\"filters\":[{\"#t\":[\"\xff\"]}]}", "not UTF-8"},
  };
  for (const auto& c : cases) {
    const Result<RemovalOrder> read = ReadRemovalOrder(c.json);
    ASSERT_FALSE(read.ok()) << c.json;
    EXPECT_TRUE(Has(read.status().message(), c.part_of_error)) << c.json << ": " << read.status().message();
  }
}

TEST(RemovalOrderTest, EveryEventIsRemovedOnlyIfThatIsMeant) {
  EXPECT_TRUE(ReadRemovalOrder(R"({"filters":[{}],"all":true})").ok());
  EXPECT_FALSE(ReadRemovalOrder(R"({"filters":[{}],"older_than_s":60})").ok());
  for (const char* some : {R"({"since":1})", R"({"until":1})", R"({"limit":1})", R"({"kinds":[]})"})
    EXPECT_TRUE(ReadRemovalOrder(std::string("{\"filters\":[") + some + "]}").ok()) << some;
}

TEST(RemovalOrderTest, AnAgeBoundsEveryFilter) {
  const RemovalOrder order{.filters = {Filter(), Filter{.until = 10}}, .older_than_seconds = 30};
  const std::vector<Filter> filters = order.FiltersAt(100);
  EXPECT_EQ(filters[0].until, 70U);
  EXPECT_EQ(filters[1].until, 10U);
}

}  // namespace
}  // namespace weir
