#include "relay/running/management_answer.h"

#include <gtest/gtest.h>

#include "tests/fixtures/has_text.h"

namespace weir {
namespace {

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
