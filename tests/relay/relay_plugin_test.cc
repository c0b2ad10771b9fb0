// A plugin of a room above, on the relay's port: when it is told what, and what it may use.
#include "relay/relay_plugin.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "relay/account/work_pool.h"
#include "relay/admin/admin.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/observe/relay/relay_metrics.h"
#include "relay/process/lock_file.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/web_client.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

using std::chrono::seconds;

std::vector<Event> Parsed(const std::vector<std::string>& notes) {
  std::vector<Event> events;
  for (const std::string& note : notes) events.push_back(EventParser().Parse(note).value());
  return events;
}

class FakePlugin final : public RelayPlugin {
 public:
  void AddRoutes(HttpRouter& router) override {
    Log("routes");
    router.Add("GET", "/plugin",
               [this](const HttpRequest&) { return HttpResponse{.body = services_ ? "started" : "not started"}; });
  }
  Status Start(const RelayServices& services) override {
    Log("start");
    services_.emplace(services);
    if (at_start) at_start(services);
    return start;
  }
  void Stop() override {
    Log("stop");
    if (services_ && at_stop) at_stop(*services_);
  }
  void AppendMetrics(MetricFamilies& families) const override {
    families.Gauge("weir_plugin", "Something of a plugin").Add(uint64_t{42});
  }

  const RelayServices& services() const { return *services_; }
  const std::string& log() const { return log_; }

  Status start;
  std::function<void(const RelayServices&)> at_start;
  std::function<void(const RelayServices&)> at_stop;

 private:
  void Log(const std::string& what) { log_ += (log_.empty() ? "" : ", ") + what; }

  std::string log_;
  std::optional<RelayServices> services_;
};

class RelayPluginTest : public RelayServerTest {
 protected:
  ~RelayPluginTest() override { relay_.reset(); }

  void Open() { RelayServerTest::Open({&plugin_}); }
  std::string Note(const std::string& content) const {
    return signer_.SignedEvent(WallClock::System().NowSeconds(), 1, "[]", content);
  }

  const Signer signer_{7};
  FakePlugin plugin_;
};

TEST_F(RelayPluginTest, IsThereFromTheFirstConnectionToTheLast) {
  Open();
  EXPECT_EQ(plugin_.log(), "routes, start");
  EXPECT_EQ(HttpGet(relay_->port(), "/plugin"), std::pair(200, std::string("started")));
  EXPECT_TRUE(Has(HttpGet(relay_->port(), "/metrics").second, "weir_plugin 42"));
  relay_->Shutdown(seconds(5));
  EXPECT_EQ(plugin_.log(), "routes, start, stop");
  relay_.reset();
  EXPECT_EQ(plugin_.log(), "routes, start, stop") << "once";
}

TEST_F(RelayPluginTest, TheLastPluginStopsFirst) {
  FakePlugin asks;
  auto opened = Relay::Open(configuration_, false, {&plugin_, &asks});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  std::string log_of_other;
  asks.at_stop = [&](const RelayServices&) { log_of_other = plugin_.log(); };
  opened.value()->Shutdown(seconds(5));
  EXPECT_EQ(log_of_other, "routes, start");
  EXPECT_EQ(plugin_.log(), "routes, start, stop");
}

TEST_F(RelayPluginTest, FindsWhatTheRelayCountsWhenItStarts) {
  plugin_.at_start = [](const RelayServices& services) { EXPECT_NE(services.metrics.Sources().limiter, nullptr); };
  Open();
}

TEST_F(RelayPluginTest, IsStoppedWhereTheRelayCouldNotOpen) {
  Open();
  FakePlugin second;
  const auto opened = Relay::Open(configuration_, false, {&second});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(second.log(), "routes, stop");
}

TEST_F(RelayPluginTest, APluginThatCannotStartKeepsTheRelayFromOpening) {
  plugin_.start = Status::Error("no room");
  const auto opened = Relay::Open(configuration_, false, {&plugin_});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().message(), "no room");
  EXPECT_EQ(plugin_.log(), "routes, start, stop");
}

TEST_F(RelayPluginTest, EventsItSavesAreServedAndCountedButNotDelivered) {
  Open();
  WebClient client(relay_->port());
  client.Send(R"(["REQ","live",{"kinds":[1]}])");
  EXPECT_EQ(client.Read(), R"(["EOSE","live"])");
  const std::vector<std::string> notes = {Note("imported"), Note("imported too")};
  const std::vector<Event> events = Parsed(notes);
  std::vector<SaveResult> results(2);
  EXPECT_TRUE(plugin_.services().events.SaveBulk(events, results).ok());
  EXPECT_EQ(results[1].outcome, SaveOutcome::kSaved);
  EXPECT_TRUE(plugin_.services().events.SaveBulk(events, results).ok());
  EXPECT_EQ(results[1].outcome, SaveOutcome::kDuplicate);

  const std::string live = Note("live");
  client.Send("[\"EVENT\"," + live + "]");
  EXPECT_EQ(client.Read(), R"(["OK",")" + std::string(FindId(live)) + R"(",true,""])");
  EXPECT_EQ(client.Read(), R"(["EVENT","live",)" + live + "]") << "the imported ones did not come before it";
  client.Send(R"(["COUNT","c",{"kinds":[1]}])");
  EXPECT_EQ(client.Read(), R"(["COUNT","c",{"count":3}])");
  const std::string metrics = HttpGet(relay_->port(), "/metrics").second;
  EXPECT_TRUE(Has(metrics, "nostr_events_total{kind=\"1\"} 3")) << metrics;
  EXPECT_TRUE(Has(metrics, "weir_bulk_commit_events_total 4"));
}

TEST_F(RelayPluginTest, GatesWorkersAndCommitsAreThereWhileItStops) {
  Status saved = Status::Error("not tried");
  plugin_.at_stop = [&](const RelayServices& services) {
    std::promise<void> worked;
    services.context.pool.Submit(Urgency::kFair, Party{.id = 1}, [&] { worked.set_value(); });
    worked.get_future().wait();
    const Party party{.id = 1, .work_class = WorkClass::kBulk};
    EXPECT_NE(services.context.limiter.Admit(Operation::kWrite, {100}, party).state(), Admission::State::kRefused);
    std::vector<SaveResult> results(1);
    saved = services.events.SaveBulk(Parsed({Note("the last")}), results);
  };
  Open();
  relay_->Shutdown(seconds(5));
  EXPECT_TRUE(saved.ok()) << saved.message();
}

TEST_F(RelayPluginTest, OthersOnThisMachineLearnWhereTheRelayAnswers) {
  Open();
  const auto holder = HolderOf(directory_ / "data/events");
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->address, "http://127.0.0.1:" + std::to_string(relay_->port()));
  EXPECT_EQ("http://" + relay_->host_and_port(), holder->address);
}

TEST_F(RelayPluginTest, ForAllAddressesThatOfLoopbackIsTold) {
  configuration_.server.listen = "0.0.0.0";
  Open();
  EXPECT_EQ(relay_->host_and_port(), "127.0.0.1:" + std::to_string(relay_->port()));
  EXPECT_EQ(HttpGet(relay_->port(), "/plugin").first, 200);
}

// The file belongs to the relay from its start to its end.
TEST_F(RelayPluginTest, AdministratorsHaveATokenWhileItRuns) {
  const std::string path = AdminTokenPath(directory_ / "data");
  const HttpRequest elsewhere{.method = "GET", .path = "/", .address = "192.0.2.2", .peer = "192.0.2.2"};
  const auto with = [&](const std::string& token) {
    HttpRequest request = elsewhere;
    request.headers.emplace_back("authorization", "Bearer " + token);
    return request;
  };
  Open();
  const std::string token = ReadAdminToken(directory_ / "data");
  EXPECT_EQ(token.size(), 64U);
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms(0600));
  EXPECT_FALSE(plugin_.services().admin.Refusal(with(token), AdminRight::kAll).has_value());
  EXPECT_TRUE(plugin_.services().admin.Refusal(elsewhere, AdminRight::kRead).has_value());
  FakePlugin second;
  EXPECT_FALSE(Relay::Open(configuration_, false, {&second}).ok());
  EXPECT_EQ(ReadAdminToken(directory_ / "data"), token) << "one that could not open has left it alone";
  relay_->Shutdown(seconds(5));
  EXPECT_FALSE(std::filesystem::exists(path));
  relay_.reset();

  std::filesystem::create_directories(path + "/in the way");
  Open();
  EXPECT_EQ(ReadAdminToken(directory_ / "data"), "");
  EXPECT_TRUE(plugin_.services().admin.Refusal(with(""), AdminRight::kRead).has_value());
  EXPECT_TRUE(plugin_.services().admin.Refusal(with(token), AdminRight::kAll).has_value())
      << "that of an earlier start";
  relay_.reset();
  std::filesystem::remove_all(path);
  Open();
  EXPECT_TRUE(plugin_.services().admin.Refusal(with(token), AdminRight::kAll).has_value());
  EXPECT_FALSE(
      plugin_.services().admin.Refusal(with(ReadAdminToken(directory_ / "data")), AdminRight::kAll).has_value());
}

}  // namespace
}  // namespace weir
