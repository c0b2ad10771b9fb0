#include "relay/doctor/scrape.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir {
namespace {

TEST(Scrape, ReadsWhatPrometheusReads) {
  const Scrape scrape(
      "# HELP a of a test\n# TYPE a gauge\n"
      "a 1.5\n"
      "a_b{x=\"1\",y=\"of two words\"} 2\n"
      "a_b{x=\"2\",y=\"z\"} 3e2\n"
      "c{x=\"1\"} 0\n"
      "nan NaN\ninf +Inf\nbad x\n\nalone\n 7");
  EXPECT_EQ(scrape.Get("a"), 1.5);
  EXPECT_EQ(scrape.Find("b"), std::nullopt);
  EXPECT_EQ(scrape.Find("nan"), std::nullopt);
  EXPECT_EQ(scrape.Find("inf"), std::nullopt);
  EXPECT_EQ(scrape.Find("bad"), std::nullopt);
  EXPECT_EQ(scrape.Get("a_b{x=\"2\",y=\"z\"}"), 300);
  EXPECT_EQ(scrape.Sum("a_b"), 302);
  EXPECT_EQ(scrape.Sum("a"), 1.5) << "a_b has another name";
  EXPECT_EQ(scrape.Sum("a_b", "x=\"1\""), 2);
  EXPECT_EQ(scrape.Label("a_b", "y"), "of two words");
  EXPECT_EQ(scrape.Label("a_b", "y", "x=\"2\""), "z");
  EXPECT_EQ(scrape.Label("c", "x"), "") << "its value is 0";
  EXPECT_TRUE(Scrape("<html><body>It works!</body></html>").empty());
  EXPECT_TRUE(Scrape("").empty());
}

TEST(Scrape, MatchesOnlyWholeLabels) {
  const Scrape scrape(
      "a{class=\"read\",x=\"1\"} 1\n"
      "a{subclass=\"read\"} 2\n"
      "a{class=\"ready\"} 4\n"
      "a{y=\"class=\\\"read\\\",class=\"} 8\n"
      "c{subclass=\"read\"} 1\n");
  EXPECT_EQ(scrape.Sum("a"), 15);
  EXPECT_EQ(scrape.Sum("a", "class=\"read\""), 1);
  EXPECT_EQ(scrape.Sum("a", "x=\"1\""), 1);
  EXPECT_EQ(scrape.Label("a", "class", "x=\"1\""), "read");
  EXPECT_EQ(scrape.Label("a", "y"), "class=\\\"read\\\",class=");
  EXPECT_EQ(scrape.Label("c", "class"), "") << "subclass is another label";
  EXPECT_EQ(scrape.Label("c", "subclass", "class=\"read\""), "");
}

RC_GTEST_PROP(ScrapeProperty, TakesAnyText, (const std::string& text)) {
  const Scrape scrape(text);
  RC_ASSERT(scrape.Sum("") == scrape.Sum(""));
}

}  // namespace
}  // namespace weir
