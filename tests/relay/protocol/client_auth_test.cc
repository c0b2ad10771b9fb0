// AUTH, and what needs it: direct messages, protected events, a relay that answers only clients that it knows.
#include "tests/fixtures/has_text.h"
#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

class ClientAuthTest : public ClientTest {
 protected:
  ClientAuthTest() { settings_.url = "wss://relay.example"; }

  static std::string ChallengeIn(const std::string& auth) {
    EXPECT_TRUE(auth.starts_with("[\"AUTH\",\"")) << auth;
    return auth.substr(9, auth.size() - 11);
  }
  std::string AuthEvent(const Signer& signer, const std::string& challenge,
                        const std::string& relay = "wss://relay.example/", uint64_t created_at = kNow) const {
    return signer.SignedEvent(created_at, 22242, R"([["relay",")" + relay + R"("],["challenge",")" + challenge + "\"]]",
                              "");
  }
  static std::string Auth(const std::string& event) { return "[\"AUTH\"," + event + "]"; }
  std::string DirectMessage(const Signer& from, const Signer& to) const {
    return from.SignedEvent(kNow, 4, R"([["p",")" + ToHex(to.pubkey()) + R"("]])", "secret");
  }

  Signer alice_{1};
  Signer bob_{2};
  Signer eve_{3};
};

TEST_F(ClientAuthTest, DirectMessagesAreForTheirPartiesOnly) {
  const std::string message = DirectMessage(alice_, bob_);
  const std::string note = Note("public");
  Store({message, note});
  Seat& client = Connect();
  client.Say(R"(["REQ","dm",{"kinds":[4]}])");
  const auto refused = Hear(client, 2);
  const std::string challenge = ChallengeIn(refused[0]);
  EXPECT_TRUE(refused[1].starts_with(R"(["CLOSED","dm","auth-required: )"));
  // A client that does not ask for them by kind gets the other events.
  client.Say(R"(["REQ","all",{}])");
  EXPECT_EQ(Hear(client, 2)[0], R"(["EVENT","all",)" + note + "]");
  EXPECT_EQ(Ask(client, R"(["COUNT","n",{}])"), R"(["COUNT","n",{"count":1}])");

  const std::string auth = AuthEvent(bob_, challenge);
  EXPECT_EQ(Ask(client, Auth(auth)), OkFor(auth));
  client.Say(R"(["REQ","dm",{"kinds":[4]}])");
  EXPECT_EQ(Hear(client, 2)[0], R"(["EVENT","dm",)" + message + "]");
}

TEST_F(ClientAuthTest, LiveDirectMessagesTooAndFromTheMomentOfAuth) {
  Seat& bob = Connect();
  Seat& eve = Connect();
  Seat& writer = Connect();
  Ask(bob, R"(["REQ","all",{}])");
  Ask(eve, R"(["REQ","all",{}])");
  bob.Say(R"(["REQ","dm",{"kinds":[1059]}])");
  const std::string challenge = ChallengeIn(Hear(bob, 2)[0]);
  const std::string auth = AuthEvent(bob_, challenge);
  EXPECT_EQ(Ask(bob, Auth(auth)), OkFor(auth));
  const std::string message = DirectMessage(alice_, bob_);
  EXPECT_EQ(Ask(writer, Publish(message)), OkFor(message));
  EXPECT_EQ(Hear(bob)[0], R"(["EVENT","all",)" + message + "]");
  RunUntilIdle();
  EXPECT_TRUE(eve->said.empty());
}

TEST_F(ClientAuthTest, WithAuthSwitchedOffTheyAreForAll) {
  settings_.auth = false;
  Store({DirectMessage(alice_, bob_)});
  Seat& client = Connect();
  EXPECT_EQ(Ask(client, R"(["COUNT","n",{"kinds":[4]}])"), R"(["COUNT","n",{"count":1}])");
}

TEST_F(ClientAuthTest, RefusesAnAuthThatDoesNotAnswerTheChallenge) {
  Seat& client = Connect();
  const std::string early = AuthEvent(bob_, "guess");
  EXPECT_EQ(Ask(client, Auth(early)), NotOk(early, "invalid: this relay has sent no challenge"));
  client.Say(R"(["REQ","dm",{"kinds":[4]}])");
  const std::string challenge = ChallengeIn(Hear(client, 2)[0]);
  const auto refused = [&](const std::string& event, const std::string& why) {
    const std::string answer = Ask(client, Auth(event));
    EXPECT_TRUE(answer.starts_with("[\"OK\",\"" + IdOf(event) + "\",false,\"invalid: ")) << answer;
    EXPECT_TRUE(Has(answer, why)) << answer;
  };
  refused(AuthEvent(bob_, "other"), "challenge tag");
  refused(AuthEvent(bob_, challenge, "wss://other.example"), "relay tag");
  refused(AuthEvent(bob_, challenge, "wss://relay.example", kNow - 700), "700 s away");
  refused(bob_.SignedEvent(kNow, 1, "[]", ""), "kind 22242");
  std::string forged = AuthEvent(bob_, challenge);
  forged.replace(forged.find("\"sig\":\"") + 10, 4, "0000");
  refused(forged, "signature");
  EXPECT_TRUE(Ask(client, "[\"AUTH\",{}]").starts_with("[\"NOTICE\",\"invalid: "));
  EXPECT_TRUE(Ask(client, R"(["REQ","dm",{"kinds":[4]}])").starts_with(R"(["CLOSED","dm","auth-required: )"));
  EXPECT_EQ(client->pauses, 0);
}

// A proxy between client and relay may write anything into the Host header, and pass the AUTH on.
TEST_F(ClientAuthTest, ARelayWithoutAnAddressBelievesNearbyHostsOnly) {
  settings_.url.clear();
  for (const auto& [host, is_believed] : {std::pair("relay.example", false), std::pair("192.168.1.2:7777", true)}) {
    Seat& client = Connect("192.0.2.1", host);
    client.Say(R"(["REQ","dm",{"kinds":[4]}])");
    const std::string auth = AuthEvent(bob_, ChallengeIn(Hear(client, 2)[0]), std::string("ws://") + host);
    const std::string answer = Ask(client, Auth(auth));
    EXPECT_EQ(answer == OkFor(auth), is_believed) << answer;
    EXPECT_EQ(answer.find("false,\"restricted: the operator") != std::string::npos, !is_believed) << answer;
  }
}

TEST_F(ClientAuthTest, MessagesBehindAnAuthWaitForIt) {
  Store({DirectMessage(alice_, bob_)});
  Seat& client = Connect();
  client.Say(R"(["REQ","dm",{"kinds":[4]}])");
  const std::string challenge = ChallengeIn(Hear(client, 2)[0]);
  client.Say({Auth(AuthEvent(eve_, challenge)), Auth(AuthEvent(bob_, challenge)), R"(["COUNT","n",{"kinds":[4]}])"});
  EXPECT_EQ(Hear(client, 3)[2], R"(["COUNT","n",{"count":1}])");
  EXPECT_EQ(client->pauses, 0);
}

TEST_F(ClientAuthTest, ProtectedEventsComeFromTheirAuthorOnly) {
  Seat& client = Connect();
  const std::string event = bob_.SignedEvent(kNow, 1, R"([["-"]])", "mine");
  client.Say(Publish(event));
  const auto refused = Hear(client, 2);
  const std::string challenge = ChallengeIn(refused[0]);
  EXPECT_EQ(refused[1], NotOk(event, "auth-required: this event may only be published by its author"));
  Ask(client, Auth(AuthEvent(eve_, challenge)));
  EXPECT_EQ(Ask(client, Publish(event)), NotOk(event, "restricted: this event may only be published by its author"));
  Ask(client, Auth(AuthEvent(bob_, challenge)));
  EXPECT_EQ(Ask(client, Publish(event)), OkFor(event));
}

TEST_F(ClientAuthTest, ARelayMayRequireAuthForEveryRequest) {
  settings_.auth_required = true;
  Seat& client = Connect();
  const std::string note = Note("hello");
  client.Say(Publish(note));
  const auto refused = Hear(client, 2);
  EXPECT_TRUE(refused[1].starts_with("[\"OK\",\"" + IdOf(note) + "\",false,\"auth-required: ")) << refused[1];
  EXPECT_TRUE(Ask(client, R"(["REQ","r",{}])").starts_with(R"(["CLOSED","r","auth-required: )"));
  EXPECT_TRUE(Ask(client, R"(["COUNT","c",{}])").starts_with(R"(["CLOSED","c","auth-required: )"));
  Ask(client, Auth(AuthEvent(bob_, ChallengeIn(refused[0]))));
  EXPECT_EQ(Ask(client, Publish(note)), OkFor(note));
  client.Say(R"(["REQ","r",{}])");
  EXPECT_EQ(Hear(client, 2)[1], R"(["EOSE","r"])");
}

}  // namespace
}  // namespace weir
