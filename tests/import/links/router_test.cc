// Links between two relays: what goes over when, what survives an outage, and what the operator may change.
#include "import/links/router.h"

#include <sys/stat.h>

#include "config/manual_clock.h"
#include "tests/fixtures/websocket_peer.h"
#include "tests/import/links/two_relays.h"

namespace weir {
namespace {

using RouterTest = TwoRelaysTest;

TEST_F(RouterTest, PassesOnWhatIsNewBothWays) {
  OpenThere();
  OpenHere(LinkToThere());
  ASSERT_TRUE(IsLive());
  WebClient reader_here(here_.port);
  WebClient reader_there(there_.port);
  for (WebClient* reader : {&reader_here, &reader_there}) {
    reader->Send(R"(["REQ","s",{"limit":0}])");
    reader->ReadUntil("[\"EOSE\"");
  }
  const std::string down = News(1), up = News(2);
  EXPECT_EQ(there_.Publish(down), "true,\"\"]");
  EXPECT_EQ(EventOf(reader_here.Read().value_or("")), down);
  EXPECT_EQ(here_.Publish(up), "true,\"\"]");
  EXPECT_EQ(EventOf(reader_there.Read().value_or("")), down);
  EXPECT_EQ(EventOf(reader_there.Read().value_or("")), up);
  const std::string last = News(3);
  there_.Publish(last);
  EXPECT_EQ(EventOf(reader_here.Read().value_or("")), up);
  EXPECT_EQ(EventOf(reader_here.Read().value_or("")), last);
  here_.Publish(News(4));
  EXPECT_TRUE(Reaches("accepted", 2)) << "an event that came is not sent back";
  there_.Publish(News(5));
  EXPECT_TRUE(Eventually([&] { return here_.Stored().size() == 5; }));
  EXPECT_TRUE(Reaches("received", 3)) << "an event that was sent does not come back";
  EXPECT_EQ(here_.Stored(), there_.Stored());
}

TEST_F(RouterTest, ComparesWhatEitherSideHasAtEachConnection) {
  OpenThere();
  OpenHere("");
  for (uint64_t n = 0; n < 30; ++n) (n % 3 == 0 ? here_ : there_).Publish(NoteLine(n, 1, "[]", kLineTime + n));
  CloseHere();
  OpenHere(LinkToThere());
  ASSERT_TRUE(IsLive());
  EXPECT_TRUE(Eventually([&] { return here_.Stored().size() == 30 && there_.Stored().size() == 30; }));
  // An outage of each side, in which the other one gets events.
  there_.Close();
  ASSERT_TRUE(Eventually([&] { return Shown(3) != "live"; }));
  EXPECT_NE(Shown(10), "") << "the trouble is shown";
  here_.Publish(News(50));
  OpenThere();
  there_.Publish(News(51));
  EXPECT_TRUE(Eventually([&] { return here_.Stored().size() == 32 && there_.Stored().size() == 32; }));
  CloseHere();
  there_.Publish(News(52));
  OpenHere(LinkToThere());
  EXPECT_TRUE(Eventually([&] { return here_.Stored().size() == 33; }));
  EXPECT_EQ(here_.Stored(), there_.Stored());
}

TEST_F(RouterTest, DeliversNewsOfAComparisonAndNoHistory) {
  OpenThere();
  const std::string old = NoteLine(1), young = News(2);
  there_.Publish(old);
  there_.Publish(young);
  OpenHere("");
  WebClient reader(here_.port);
  reader.Send(R"(["REQ","s",{"limit":0}])");
  reader.ReadUntil("[\"EOSE\"");
  WriteFile(LinkToThere());
  router_->HangUp();
  EXPECT_EQ(EventOf(reader.Read().value_or("")), young);
  ASSERT_TRUE(IsLive());
  EXPECT_TRUE(Eventually([&] { return here_.Stored().size() == 2; })) << "history is stored";
  const std::string next = News(3);
  there_.Publish(next);
  EXPECT_EQ(EventOf(reader.Read().value_or("")), next) << "and nothing else was delivered";
}

TEST_F(RouterTest, KeepsToItsFiltersDirectionAndCatchUp) {
  OpenThere();
  there_.Publish(NoteLine(1, 1, "[]", WallClock::System().NowSeconds() - uint64_t{3} * 86400));
  there_.Publish(News(2, 1));
  there_.Publish(News(3, 7));
  OpenHere(LinkToThere("    dir: down\n    filters: [{kinds: [1]}]\n    catch_up: 2d\n"));
  ASSERT_TRUE(IsLive());
  here_.Publish(News(4));
  there_.Publish(News(5, 7));
  there_.Publish(News(6, 20001));  // ephemeral
  there_.Publish(News(7));
  EXPECT_TRUE(Eventually([&] { return here_.Stored().size() == 3; })) << "two came, and one is the own";
  there_.Publish(News(8));
  EXPECT_TRUE(Eventually([&] { return here_.Stored().size() == 4; }));
  EXPECT_EQ(there_.Stored().size(), 6U) << "nothing went up";
  EXPECT_TRUE(Reaches("received", 3));
}

TEST_F(RouterTest, SendsPrivateEventsOnlyIfTheirKindIsNamed) {
  OpenThere();
  OpenHere(LinkToThere("    dir: up\n"));
  ASSERT_TRUE(IsLive());
  const std::string tag = R"([["p",")" + std::string(64, 'a') + R"("]])";
  EXPECT_EQ(here_.Publish(News(1, 4, tag)), "true,\"\"]");
  EXPECT_EQ(here_.Publish(News(2)), "true,\"\"]");
  EXPECT_TRUE(Eventually([&] { return there_.Stored().size() == 1; }));
  EXPECT_TRUE(Reaches("accepted", 1));
  WriteFile(LinkToThere("    dir: up\n    filters: [{kinds: [4]}, {}]\n    catch_up: none\n"));
  router_->HangUp();
  ASSERT_TRUE(Eventually([&] { return Shown(8) == "0" && Shown(3) == "live"; }));
  EXPECT_EQ(here_.Publish(News(3, 1059, tag)), "true,\"\"]");
  EXPECT_EQ(here_.Publish(News(4, 4, tag)), "true,\"\"]");
  EXPECT_EQ(here_.Publish(News(5)), "true,\"\"]");
  EXPECT_TRUE(Reaches("accepted", 3)) << "the kind of the gift wrap is not named";
}

TEST_F(RouterTest, AsksThePluginOfTheGroup) {
  OpenThere();
  const std::string plugin = directory_ / "judge";
  WriteText(plugin, R"(#!/usr/bin/python3
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    ok = 'note 1' not in question['event']['content'] and question['sourceType'] == 'Stream'
    print(json.dumps({'id': question['event']['id'], 'action': 'accept' if ok else 'reject'}), flush=True)
)");
  chmod(plugin.c_str(), 0700);
  OpenHere(LinkToThere("    plugin: " + plugin + "\n"));
  ASSERT_TRUE(IsLive());
  there_.Publish(News(1));
  there_.Publish(News(2));
  EXPECT_TRUE(Eventually([&] { return here_.Stored().size() == 1; }));
  EXPECT_TRUE(Reaches("received", 2));
  EXPECT_TRUE(Reaches("saved", 1));
}

TEST_F(RouterTest, FollowsTheFile) {
  OpenThere();
  OpenHere(LinkToThere());
  ASSERT_TRUE(IsLive());
  const std::string lines = LinkToThere() + "  other:\n    relays: [\"ws://127.0.0.1:1\"]\n";
  WriteFile(lines);
  router_->HangUp();
  ASSERT_TRUE(Eventually([&] { return LiveTableOf(*router_, "links").rows.size() == 2; }));
  EXPECT_EQ(MetricOf(*router_, "weir_link_connections_total{relay=\"" + ThereUrl() + "\"}{group=\"peers\"}"), 1U)
      << "a link that is unchanged goes on";
  WriteFile("router:\n  peers: {relays: [nothing]}\n");
  router_->HangUp();
  ASSERT_TRUE(Eventually([&] { return MetricOf(*router_, "weir_router_config_good") == 0; }));
  EXPECT_EQ(LiveTableOf(*router_, "links").rows.size(), 2U) << "a wrong file changes nothing";
  WriteFile("relay: {}\n");
  router_->HangUp();
  EXPECT_TRUE(Eventually([&] { return LiveTableOf(*router_, "links").rows.empty(); }));
}

TEST_F(RouterTest, DoesNotStartWithAWrongFile) {
  WriteFile("router:\n  peers: {relays: [wss://a.example], plugin: /nowhere/judge}\n");
  ManagementPlugin management;
  RouterPlugin router(management.methods(), [this] { return file_; });
  const auto opened = Relay::Open(here_.configuration, false, {&management, &router});
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.status().message().find("/nowhere/judge"), std::string::npos) << opened.status().message();
}

TEST_F(RouterTest, PassesOnImportsAndWhatOtherLinksBring) {
  OpenThere();
  Side third(directory_ / "third");
  third.Open({});
  OpenHere(LinkToThere() + "  others:\n    relays: [\"ws://127.0.0.1:" + std::to_string(third.port) + "\"]\n");
  ASSERT_TRUE(Eventually([&] {
    const LiveTable table = LiveTableOf(*router_, "links");
    return table.rows.size() == 2 && table.rows[0][3] == "live" && table.rows[1][3] == "live";
  }));
  there_.Publish(NoteLine(1));  // is years old
  there_.Publish(News(2));
  EXPECT_TRUE(Eventually([&] { return third.Stored().size() == 2; }));
  EXPECT_EQ(third.Stored(), there_.Stored());
}

TEST_F(RouterTest, BearsARelayThatSaysWhatNobodyAskedFor) {
  const WebSocketPeer peer([](const std::string& message) -> WebSocketPeer::Reply {
    WebSocketPeer::Reply reply;
    if (message.starts_with("[\"EVENT\"")) {
      reply.messages = {R"(["EVENT","live",{}])",  "[\"EVENT\",\"live\"," + News(7) + "]",
                        R"(["CLOSED","live",""])", R"(["OK","00",true,""])",
                        R"(["EOSE","live"])",      R"([])"};
    }
    return reply;
  });
  OpenHere("router:\n  peers:\n    relays: [\"" + peer.url() + "\"]\n    dir: up\n    catch_up: none\n");
  ASSERT_TRUE(IsLive());
  here_.Publish(News(1));
  EXPECT_TRUE(Eventually([&] { return peer.connections() >= 2; })) << "the last message ends the connection";
  EXPECT_EQ(here_.Stored().size(), 1U);
}

TEST_F(RouterTest, EndsWhileAPluginDoesNotAnswer) {
  here_.configuration.plugins.timeout = std::chrono::minutes(10);
  OpenThere();
  OpenHere(LinkToThere("    plugin: exec sleep 1000\n"));
  ASSERT_TRUE(IsLive());
  there_.Publish(News(1));
  EXPECT_TRUE(Reaches("received", 1));
  CloseHere();
}

TEST_F(RouterTest, SaysWhyALinkIsNotLive) {
  const WebSocketPeer closing([](const std::string& message) -> WebSocketPeer::Reply {
    if (message.starts_with("[\"REQ\"")) return {.messages = {R"(["CLOSED","live","restricted: not for you"])"}};
    return {};
  });
  OpenHere("router:\n  peers:\n    relays: [\"" + closing.url() + "\"]\n    catch_up: none\n");
  EXPECT_TRUE(Eventually([&] { return Shown(10) == "the relay does not give new events: restricted: not for you"; }))
      << Shown(10);
  EXPECT_TRUE(Eventually([&] { return closing.connections() >= 2; })) << "it connects again";
}

// Has a router of its own, whose clock the test moves.
class LeaseTest : public TwoRelaysTest {
 protected:
  class OwnRouter final : public RelayPlugin {
   public:
    Status Start(const RelayServices& services) override {
      router = std::make_unique<Router>(services, clock);
      return {};
    }
    void Stop() override { router->Stop(); }
    void AppendMetrics(MetricFamilies&) const override {}

    ManualClock clock;
    std::unique_ptr<Router> router;
  };

  ~LeaseTest() override { here_.Close(); }

  OwnRouter own_;
};

TEST_F(LeaseTest, EndsALinkThatIsNotRenewed) {
  here_.Open({&own_});
  Router& router = *own_.router;
  const uint64_t kept = router.Open({.url = "ws://127.0.0.1:1"}).value();
  const uint64_t left = router.Open({.url = "ws://127.0.0.1:1"}).value();
  own_.clock.Advance(Router::kLease / 2);
  EXPECT_TRUE(router.Renew(kept));
  own_.clock.Advance(Router::kLease * 3 / 4);
  EXPECT_TRUE(Eventually([&] { return router.List().size() == 1; }));
  EXPECT_FALSE(router.Renew(left));
  EXPECT_TRUE(router.Renew(kept));
  EXPECT_TRUE(router.Close(kept));
  EXPECT_FALSE(router.Close(kept));
}

TEST_F(LeaseTest, DoesNotTakeALinkOfAnEarlierProcessForItsOwn) {
  here_.Open({&own_});
  const uint64_t of_before = own_.router->Open({.url = "ws://127.0.0.1:1"}).value();
  here_.Close();
  here_.Open({&own_});
  ASSERT_TRUE(own_.router->Open({.url = "ws://127.0.0.1:1"}).ok());
  EXPECT_FALSE(own_.router->Renew(of_before));
}

TEST_F(LeaseTest, BoundsTheLinks) {
  here_.Open({&own_});
  Router& router = *own_.router;
  for (size_t n = 0; n < Router::kMostOpened; ++n) ASSERT_TRUE(router.Open({.url = "ws://127.0.0.1:1"}).ok());
  EXPECT_NE(router.Open({.url = "ws://127.0.0.1:1"}).status().message().find("no more may be opened"),
            std::string::npos);
  EXPECT_FALSE(router.Open({.url = "http://127.0.0.1:1"}).ok());
}

}  // namespace
}  // namespace weir
