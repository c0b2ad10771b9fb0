// Messages of a client that are no requests: by mistake, out of habit, or in words that this relay does not know.
#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

using ClientMannersTest = ClientTest;

TEST_F(ClientMannersTest, BadMessagesAreForgottenAsTimeGoesBy) {
  Seat& client = Connect();
  for (int n = 0; n < 99; ++n) Ask(client, "garbage");
  clock_.Advance(std::chrono::seconds(100));
  for (int n = 0; n < 10; ++n) Ask(client, "garbage");
  EXPECT_TRUE(client->closed.empty()) << "ten of them were forgotten";
  Ask(client, "garbage");
  EXPECT_EQ(client->closed, std::vector{CloseCode::kPolicy});
}

TEST_F(ClientMannersTest, OneNowAndThenIsNeverTooMany) {
  Seat& client = Connect();
  for (int n = 0; n < 500; ++n) {
    Ask(client, "garbage");
    clock_.Advance(std::chrono::seconds(10));
  }
  EXPECT_TRUE(client->closed.empty());
}

TEST_F(ClientMannersTest, AKeepAliveIsHeardAndNotAnswered) {
  Seat& client = Connect();
  client.Say(std::vector<std::string>(300, R"(["PING"])"));
  RunUntilIdle();
  EXPECT_TRUE(client->said.empty());
  EXPECT_TRUE(client->closed.empty());
}

TEST_F(ClientMannersTest, AFieldOfAFilterThatIsNotKnownIsUnsupported) {
  Seat& client = Connect();
  for (int n = 0; n < 150; ++n) {
    EXPECT_EQ(Ask(client, R"(["REQ","s",{"search":"x"}])"),
              R"(["CLOSED","s","unsupported: filter 1: unknown field \"search\""])");
  }
  EXPECT_TRUE(client->closed.empty());
  EXPECT_TRUE(Ask(client, R"(["REQ","s",{"kinds":"x"}])").starts_with(R"(["CLOSED","s","invalid: )"));
}

TEST_F(ClientMannersTest, AnswersPendingEventsBeforeTheConnectionCloses) {
  Seat& client = Connect();
  store_.HoldSaves(true);
  const std::string note = Note("the last");
  client.Say(Publish(note));
  bool done = false;
  client.client->OnLastText([&] { done = true; });
  RunUntilIdle();
  EXPECT_FALSE(done);
  store_.HoldSaves(false);
  EXPECT_EQ(Hear(client)[0], OkFor(note));
  RunUntilIdle();
  EXPECT_TRUE(done);
}

TEST_F(ClientMannersTest, DoesNotDelayTheCloseIfNoEventIsPending) {
  Seat& client = Connect();
  bool done = false;
  client.client->OnLastText([&] { done = true; });
  EXPECT_TRUE(done);
}

TEST_F(ClientMannersTest, SendsTheChallengeAtConnectIfAuthIsRequired) {
  settings_.auth_required = true;
  Seat& client = Connect();
  ASSERT_EQ(client->said.size(), 1U);
  EXPECT_TRUE(client->last().starts_with(R"(["AUTH",")"));
  client.Say(R"(["REQ","r",{}])");
  EXPECT_EQ(client->Count(R"(["AUTH")"), 1U) << "once";
}

}  // namespace
}  // namespace weir
