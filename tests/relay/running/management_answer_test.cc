#include "relay/running/management_answer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/text/parse.h"
#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

// Some parts have room for exactly their decisions, and one decision is longer than a part may be.
TEST(ManagementAnswer, ALongDocumentIsDividedIntoDocumentsWithAllDecisions) {
  const std::string head = R"({"weir_moderation":1,"decisions":[)";
  std::vector<std::string> decisions;
  for (size_t n = 0; n < 40; ++n)
    decisions.push_back(R"({"list":"x","reason":")" + std::string(n * 7 % 90, ']') + "\"}");
  const std::string whole = head + Join(decisions, ",") + "]}";
  EXPECT_EQ(PartsOfDocument(whole, whole.size()), std::vector<std::string>{whole});
  for (size_t most = 80; most < whole.size(); most += 13) {
    std::vector<std::string> found;
    for (const std::string& part : PartsOfDocument(" " + whole + "\n", most)) {
      ASSERT_TRUE(part.starts_with(head) && part.ends_with("]}")) << part;
      const std::string list = part.substr(head.size() - 1, part.size() - head.size());
      const std::vector<std::string> items = ItemsOf(list).value();
      EXPECT_TRUE(part.size() <= most || items.size() == 1) << part.size() << " " << most;
      found.insert(found.end(), items.begin(), items.end());
    }
    EXPECT_EQ(found, decisions) << most;
  }
  for (const char* other : {"", "[1,2,3]", "{\"decisions\":[", "{\"decisions\":7}", "{\"decisions\":[]}"})
    EXPECT_EQ(PartsOfDocument(other, 1), std::vector<std::string>{other});
}

TEST(ManagementAnswer, IsReadOrItsErrorTold) {
  EXPECT_EQ(ReadManagementAnswer(R"({"result":[1,{"a":2}],"after":"x"})").value().result, R"([1,{"a":2}])");
  EXPECT_EQ(ReadManagementAnswer(R"({"result":[],"after":"x"})").value().after, "x");
  EXPECT_EQ(ReadManagementAnswer(R"({"result":null,"error":"no \"x\""})").status().message(), "no \"x\"");
  EXPECT_EQ(ReadManagementAnswer(R"({"result":null,"error":"one\ntwo"})").status().message(), "one");
  for (const char* other : {"", "[]", "{}", "<html>", R"({"result":1)", "{\"result\":\"\xff\"}"})
    EXPECT_TRUE(Has(ReadManagementAnswer(other).status().message(), "not that of a relay")) << other;
}

TEST(ManagementAnswer, AnItemIsALine) {
  EXPECT_EQ(LineOf("7"), "7");
  EXPECT_EQ(LineOf(R"("a")"), "a");
  EXPECT_EQ(LineOf(R"({"id":"x","reason":"a\tb","done":true})").substr(0, 3), "x  ");
  EXPECT_EQ(ItemsOf(R"([1, "a", {"b":[2]}])").value().size(), 3u);
  EXPECT_FALSE(ItemsOf("{}").ok());
}

}  // namespace
}  // namespace weir
