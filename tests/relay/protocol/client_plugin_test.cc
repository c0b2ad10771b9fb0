// A plugin of the operator judges events and requests: the answers of clients, and that nobody else waits.
#include <thread>

#include "relay/protocol/save_allowed.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/plugins/scripted_plugin.h"
#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

class ClientPluginTest : public ClientTest {
 protected:
  ~ClientPluginTest() override {
    if (plugin_) plugin_->Stop();
  }

  void BuildWithPlugin(PluginFailure on_failure = PluginFailure::kRefuse) {
    PolicyPluginOptions options = script_.Options(clock_);
    options.on_failure = on_failure;
    auto started = PolicyPlugin::Start(std::move(options));
    ASSERT_TRUE(started.ok());
    plugin_ = std::move(started).value();
    Build();
    context_->write_plugin = context_->read_plugin = context_->import_plugin = plugin_.get();
  }
  // Answers the next question, and returns it.
  std::string Judge(const std::string& action, const std::string& msg = "") {
    std::string question = script_.Hear();
    const size_t id = question.find("\"id\":\"") + 6;
    script_.Answer(question.substr(id, question.find('"', id) - id), action, msg);
    return question;
  }
  void TimeOut() {
    clock_.Advance(std::chrono::seconds(5));
    plugin_->Wake();
  }

  ScriptedPlugin script_;
  std::unique_ptr<PolicyPlugin> plugin_;
};

TEST_F(ClientPluginTest, AnAcceptedEventIsSavedAndDelivered) {
  BuildWithPlugin();
  context_->read_plugin = nullptr;
  Seat& reader = Connect();
  Seat& writer = Connect("2001:db8::1");
  EXPECT_EQ(Ask(reader, R"(["REQ","live",{"kinds":[1],"limit":0}])"), R"(["EOSE","live"])");
  const std::string note = Note("hello");
  writer.Say(Publish(note));
  EXPECT_EQ(Judge("accept"), R"({"type":"new","event":)" + note + R"(,"receivedAt":)" + std::to_string(kNow) +
                                 R"(,"sourceType":"IP6","sourceInfo":"2001:db8::1"})");
  EXPECT_EQ(Hear(writer)[0], OkFor(note));
  EXPECT_EQ(Hear(reader)[0], R"(["EVENT","live",)" + note + "]");
  EXPECT_EQ(Ask(writer, Publish(note)), OkFor(note, "duplicate: already have this event")) << "it is not asked again";
}

TEST_F(ClientPluginTest, ARejectedEventIsRefusedWithTheMessage) {
  BuildWithPlugin();
  Seat& writer = Connect();
  const std::string note = Note("spam");
  writer.Say(Publish(note));
  Judge("reject", "not on the list");
  EXPECT_EQ(Hear(writer)[0], NotOk(note, "blocked: not on the list"));
  EXPECT_EQ(pipeline_->CommitStats().events, 0U);
}

TEST_F(ClientPluginTest, AShadowRejectedEventIsOnlySaidToBeTaken) {
  BuildWithPlugin();
  Seat& reader = Connect();
  Seat& writer = Connect();
  context_->read_plugin = nullptr;
  EXPECT_EQ(Ask(reader, R"(["REQ","live",{"limit":0}])"), R"(["EOSE","live"])");
  for (const uint16_t kind : {1, 20'001}) {
    const std::string event = signer_.SignedEvent(kNow, kind, "[]", "spam");
    writer.Say(Publish(event));
    Judge("shadowReject");
    EXPECT_EQ(Hear(writer)[0], OkFor(event));
  }
  RunUntilIdle();
  EXPECT_TRUE(reader->said.empty());
  EXPECT_EQ(pipeline_->CommitStats().events, 0U);
}

TEST_F(ClientPluginTest, AForgedEventIsNotAsked) {
  BuildWithPlugin();
  Seat& writer = Connect();
  std::string forged = Note("forged");
  forged.replace(forged.find("\"sig\":\"") + 10, 4, "0000");
  EXPECT_EQ(Ask(writer, Publish(forged)), NotOk(forged, "invalid: the signature is not its author's"));
  EXPECT_EQ(plugin_->Stats().under_way, 0U);
}

TEST_F(ClientPluginTest, ASlowEventHoldsItsBytesAndNoOtherEvent) {
  BuildWithPlugin();
  Seat& writer = Connect();
  const std::vector<std::string> notes = Notes(3);
  writer.Say(Publish(notes));
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    const std::string question = script_.Hear();
    ids.push_back(question.substr(question.find("\"id\":\"") + 6, 64));
  }
  EXPECT_GT(budget_->out(), notes[0].size());
  for (const size_t i : {2, 1}) script_.Answer(ids[i], "accept");
  for (const std::string& ok : Hear(writer, 2)) EXPECT_TRUE(ok.ends_with(",true,\"\"]")) << ok;
  TimeOut();
  const std::string last = Hear(writer)[0];
  EXPECT_TRUE(Has(last, ids[0]) && Has(last, "false,\"error: the write plugin of this relay gave no answer")) << last;
  RunUntilAllIsGivenBack();
}

TEST_F(ClientPluginTest, WithoutAnAnswerAnEventIsTakenIfTheOperatorSaysSo) {
  BuildWithPlugin(PluginFailure::kAccept);
  Seat& writer = Connect();
  const std::string note = Note("hello");
  writer.Say(Publish(note));
  script_.Hear();
  TimeOut();
  EXPECT_EQ(Hear(writer)[0], OkFor(note));
}

TEST_F(ClientPluginTest, ARefusalMayAskForAuth) {
  BuildWithPlugin();
  Seat& writer = Connect();
  const std::string note = Note("hello");
  writer.Say(Publish(note));
  Judge("reject", "auth-required: members only");
  const auto heard = Hear(writer, 2);
  EXPECT_TRUE(heard[0].starts_with("[\"AUTH\","));
  EXPECT_EQ(heard[1], NotOk(note, "auth-required: members only"));
  writer.Say(R"(["REQ","s",{"kinds":[1]}])");
  Judge("reject", "auth-required: members only");
  EXPECT_EQ(Hear(writer)[0], R"(["CLOSED","s","auth-required: members only"])");
}

TEST_F(ClientPluginTest, ARequestIsAnsweredAsThePluginSays) {
  BuildWithPlugin();
  const std::string note = Note("stored");
  Store({note});
  Seat& reader = Connect();
  const std::string request = R"(["REQ","s",{"kinds":[1]}])";
  reader.Say(request);
  EXPECT_TRUE(Has(Judge("accept"), R"("verb":"REQ","subscription":"s","filters":[{"kinds":[1]}],"authed":[])"));
  EXPECT_EQ(Hear(reader, 2), (std::vector<std::string>{R"(["EVENT","s",)" + note + "]", R"(["EOSE","s"])"}));
  reader.Say(request);
  Judge("reject", "not for you");
  EXPECT_EQ(Hear(reader)[0], R"(["CLOSED","s","blocked: not for you"])");
  reader.Say(request);
  Judge("shadowReject");
  EXPECT_EQ(Hear(reader)[0], R"(["EOSE","s"])");
  reader.Say(R"(["COUNT","c",{"kinds":[1]}])");
  EXPECT_TRUE(Has(Judge("shadowReject"), R"("verb":"COUNT")"));
  EXPECT_EQ(Hear(reader)[0], R"(["COUNT","c",{"count":0}])");
  EXPECT_EQ(delivery_->subscriptions(), 0U);
  RunUntilAllIsGivenBack();
}

TEST_F(ClientPluginTest, QuestionsOfClosedRequestsCountUntilTheyAreSettled) {
  settings_.max_subscriptions = 3;
  BuildWithPlugin();
  Seat& reader = Connect();
  const std::vector<std::string> opened_and_closed = {R"(["REQ","s",{"kinds":[1]}])", R"(["CLOSE","s"])"};
  for (int i = 0; i < 3; ++i) reader.Say(opened_and_closed);
  EXPECT_TRUE(Has(Ask(reader, R"(["REQ","s",{"kinds":[1]}])"), "error: too many subscriptions"));
  EXPECT_GT(ledger_->bytes(), 0U);
  for (int i = 0; i < 3; ++i) Judge("accept");
  RunUntilAllIsGivenBack();
  reader.Say(R"(["REQ","s",{"kinds":[1]}])");
  Judge("accept");
  EXPECT_EQ(Hear(reader)[0], R"(["EOSE","s"])");
}

TEST_F(ClientPluginTest, AnAcceptedRequestOfAnEndedConnectionDoesNotStart) {
  BuildWithPlugin();
  Seat& reader = Connect();
  for (int i = 0; i < 9; ++i) reader.Say(R"(["REQ",")" + std::to_string(i) + R"(",{"kinds":[1]}])");
  End(reader);
  for (int i = 0; i < 9; ++i) Judge("accept");
  EXPECT_TRUE(Eventually([&] { return plugin_->Stats().under_way == 0; }));
  plugin_->Stop();  // now all verdicts wait for the I/O thread
  size_t most = 0;
  io_.restart();
  while (io_.poll_one() > 0) most = std::max(most, delivery_->subscriptions());
  EXPECT_EQ(most, 0U);
  RunUntilAllIsGivenBack();
}

TEST_F(ClientPluginTest, AnImportAsksAboutFewEventsAtOnce) {
  BuildWithPlugin();
  EventParser parser;
  std::vector<Event> events;
  for (const std::string& note : Notes(200)) events.push_back(parser.Parse(note).value());
  std::vector<SaveResult> results(events.size());
  Status saved;
  std::thread import([&] { saved = pipeline_->SaveBulk(events, results); });
  uint64_t most = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    script_.Hear();
    most = std::max(most, plugin_->Stats().under_way);
    const std::string id = ToHex(events[i].view().id());
    script_.Answer(id, i % 2 == 0 ? "accept" : "reject");
  }
  import.join();
  EXPECT_TRUE(saved.ok()) << saved.message();
  EXPECT_LE(most, 64U);
  for (size_t i = 0; i < events.size(); ++i)
    EXPECT_EQ(results[i].outcome, i % 2 == 0 ? SaveOutcome::kSaved : SaveOutcome::kRefused) << i;
}

TEST_F(ClientPluginTest, AnImportSavesWhatThePluginAccepts) {
  BuildWithPlugin();
  EventParser parser;
  std::vector<Event> events;
  for (const std::string& note : Notes(3)) events.push_back(parser.Parse(note).value());
  std::vector<SaveResult> results(events.size());
  Status saved;
  std::thread import([&] { saved = pipeline_->SaveBulk(events, results); });
  EXPECT_TRUE(Has(Judge("accept"), R"("sourceType":"Import","sourceInfo":"")"));
  Judge("reject");
  Judge("accept");
  import.join();
  EXPECT_TRUE(saved.ok()) << saved.message();
  EXPECT_EQ(results[0].outcome, SaveOutcome::kSaved);
  EXPECT_EQ(results[1].outcome, SaveOutcome::kRefused);
  EXPECT_EQ(results[2].outcome, SaveOutcome::kSaved);
  for (const SaveResult& result : results) EXPECT_TRUE(result.settled);
}

TEST_F(ClientPluginTest, AnImportDoesNotAskAboutBannedEvents) {
  BuildWithPlugin();
  EventParser parser;
  std::vector<Event> events;
  for (const std::string& note : Notes(3)) events.push_back(parser.Parse(note).value());
  context_->rules->decided().banned_events.Add(events[1].view().id());
  std::vector<SaveResult> results(events.size());
  Status saved;
  std::thread import([&] { saved = pipeline_->SaveBulk(events, results); });
  EXPECT_TRUE(Has(Judge("accept"), ToHex(events[0].view().id())));
  EXPECT_TRUE(Has(Judge("reject"), ToHex(events[2].view().id())));
  import.join();
  EXPECT_TRUE(saved.ok()) << saved.message();
  EXPECT_EQ(results[0].outcome, SaveOutcome::kSaved);
  EXPECT_EQ(results[1].outcome, SaveOutcome::kRefused);
  EXPECT_EQ(results[2].outcome, SaveOutcome::kRefused);
}

TEST_F(ClientPluginTest, AnImportTriesAgainIfThePluginGivesNoAnswer) {
  BuildWithPlugin();
  const std::vector<Event> events = {EventParser().Parse(Note("hello")).value()};
  std::vector<SaveResult> results(1);
  Status saved;
  std::thread import([&] { saved = pipeline_->SaveBulk(events, results); });
  script_.Hear();
  TimeOut();
  import.join();
  EXPECT_TRUE(Has(saved.message(), "gave no answer")) << saved.message();
  EXPECT_FALSE(results[0].settled);
}

}  // namespace
}  // namespace weir
