#include "bench/relay/replies.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

const std::string kId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

TEST(Replies, ReadsOk) {
  const std::string yes = "[\"OK\",\"" + kId + "\",true,\"\"]";
  const Reply reply = ParseReply(yes);
  EXPECT_EQ(reply.kind, ReplyKind::kOk);
  EXPECT_EQ(reply.subject, kId);
  EXPECT_TRUE(reply.accepted);
  EXPECT_EQ(reply.text, "");
}

TEST(Replies, ReadsOkWithBlanksAndEscapes) {
  const std::string no = "[ \"OK\" , \"" + kId + "\" ,\n false , \"invalid: \\\"id\\\" is wrong\" ]";
  const Reply reply = ParseReply(no);
  EXPECT_EQ(reply.kind, ReplyKind::kOk);
  EXPECT_EQ(reply.subject, kId);
  EXPECT_FALSE(reply.accepted);
  EXPECT_EQ(reply.text, "invalid: \\\"id\\\" is wrong");
  EXPECT_EQ(ReasonPrefix(reply.text), "invalid");
}

TEST(Replies, ReadsTheOthers) {
  EXPECT_EQ(ParseReply(R"(["EOSE","q1"])").kind, ReplyKind::kEose);
  EXPECT_EQ(ParseReply(R"(["EOSE","q1"])").subject, "q1");
  EXPECT_EQ(ParseReply(R"(["CLOSED","q1","rate-limited: later"])").text, "rate-limited: later");
  EXPECT_EQ(ParseReply(R"(["NOTICE","hm"])").text, "hm");
  EXPECT_EQ(ParseReply(R"(["AUTH","challenge"])").kind, ReplyKind::kAuth);
  EXPECT_EQ(ParseReply(R"(["COUNT","q1",{"count":2}])").kind, ReplyKind::kCount);
  EXPECT_EQ(ParseReply(R"(["WHAT"])").kind, ReplyKind::kOther);
}

TEST(Replies, SurvivesTruncatedReplies) {
  const std::string whole = "[\"OK\",\"" + kId + "\",true,\"duplicate: \\\" have\"]";
  for (size_t size = 0; size < whole.size(); ++size) ParseReply(whole.substr(0, size));
  EXPECT_EQ(ParseReply("[\"OK\",\"\\").subject, "");
}

TEST(Replies, FindsTheIdInAnyOrderOfFields) {
  const std::string first = "{\"id\":\"" + kId + "\",\"content\":\"\"}";
  const std::string last = R"({"content":"\"id\":\"no\" id","tags":[["id","no"]],"id":")" + kId + "\"}]";
  const std::string blanks = "{ \"tags\" : [[\"id\", \"no\"]], \"id\" : \"" + kId + "\" }";
  EXPECT_EQ(IdOfEvent(first), kId);
  EXPECT_EQ(IdOfEvent(last), kId);
  EXPECT_EQ(IdOfEvent(blanks), kId);
  EXPECT_EQ(IdOfEvent(R"({"content":"id"})"), "");
  EXPECT_EQ(ParseReply("[\"EVENT\",\"s\"," + first + "]").subject, "s");
  EXPECT_EQ(IdOfEvent(ParseReply("[\"EVENT\",\"s\"," + first + "]").event).size(), kId.size());
}

TEST(Replies, IdPrefixIsTheFirstEightBytes) {
  uint64_t prefix = 0;
  ASSERT_TRUE(IdPrefix(kId, &prefix));
  EXPECT_EQ(prefix, 0x0123456789abcdefu);
  EXPECT_FALSE(IdPrefix("0123", &prefix));
  EXPECT_FALSE(IdPrefix("0123456789abcdeg", &prefix));
}

TEST(Replies, ReasonWithoutAWordIsOther) {
  EXPECT_EQ(ReasonPrefix("rate-limited: slow down"), "rate-limited");
  EXPECT_EQ(ReasonPrefix("no: colon after blank is fine"), "no");
  EXPECT_EQ(ReasonPrefix("something else: no"), "other");
  EXPECT_EQ(ReasonPrefix(""), "other");
}

}  // namespace
}  // namespace weir
