#include "relay/process/http_error_words.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(HttpErrorWords, AreTheMessageOfAnError) {
  const std::string body = "{\"error\":{\"code\":\"not_found\",\"message\":\"nothing is at /x\"}}\n";
  EXPECT_EQ(ErrorMessageIn(body), "nothing is at /x");
  EXPECT_EQ(ErrorWordsIn(body), "nothing is at /x");
  EXPECT_EQ(ErrorMessageIn(R"({"allowed":false,"error":{"code":"x","message":"m"}})"), "m");
}

// An earlier version of a relay, and a proxy before it, answer in text.
TEST(HttpErrorWords, AreTheFirstLineOfAnotherForm) {
  for (const char* text : {"", "plain", "[1]", "{}", R"({"error":"text"})", R"({"error":{"message":1}})"})
    EXPECT_EQ(ErrorMessageIn(text), std::nullopt) << text;
  EXPECT_EQ(ErrorWordsIn("for administrators only: no\nAny of these will do:\n"), "for administrators only: no");
  EXPECT_EQ(ErrorWordsIn(std::string(50, 'x'), 10), std::string(10, 'x'));
  EXPECT_EQ(ErrorWordsIn(R"({"error":{"code":"x","message":"one\ntwo"}})"), "one");
}

}  // namespace
}  // namespace weir
