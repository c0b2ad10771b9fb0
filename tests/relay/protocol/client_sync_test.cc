// NEG-OPEN, NEG-MSG and NEG-CLOSE (NIP-77): a client and the relay find out in which events they differ.
#include <algorithm>
#include <set>

#include "relay/negentropy/reconciler.h"
#include "relay/rules/rules.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/negentropy/sync_items.h"
#include "tests/relay/plugins/scripted_plugin.h"
#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

class ClientSyncTest : public ClientTest {
 protected:
  static constexpr size_t kFrameBytes = 100'000;

  // Returns the set of a client that has these events.
  static SyncSet SetOf(const std::vector<std::string>& events) {
    EventParser parser;
    std::vector<SyncItem> items;
    for (const std::string& json : events) {
      const Event event = parser.Parse(json).value();
      items.push_back({event.view().created_at(), event.view().id()});
    }
    return SealedSetOf(items);
  }
  static std::string Open(const std::string& filter, const std::string& message, const std::string& id = "n") {
    return "[\"NEG-OPEN\",\"" + id + "\"," + filter + ",\"" + ToHex(message) + "\"]";
  }
  static std::string Open(const std::string& filter = R"({"kinds":[1]})") {
    return Open(filter, Reconciler::FirstMessage(SetOf({}), kFrameBytes));
  }
  static std::string Message(const std::string& message, const std::string& id = "n") {
    return "[\"NEG-MSG\",\"" + id + "\",\"" + ToHex(message) + "\"]";
  }
  // Returns negentropy's message in a NEG-MSG of the relay.
  static std::string MessageIn(const std::string& answer, const std::string& id = "n") {
    const std::string head = "[\"NEG-MSG\",\"" + id + "\",\"";
    EXPECT_TRUE(answer.starts_with(head)) << answer;
    if (!answer.starts_with(head)) return "";
    return BytesOfHex(answer.substr(head.size(), answer.size() - head.size() - 2));
  }
  // Returns the ids in an answer to a client without events, which are all ids of the relay's set.
  static std::set<std::string> IdsIn(const std::string& answer) {
    SyncDifferences found;
    const SyncSet none = SetOf({});
    Reconciler side(none, MessageIn(answer), kFrameBytes, &found);
    EXPECT_TRUE(side.Next(UINT64_MAX / 2).ok());
    std::set<std::string> ids;
    for (const EventId& id : found.need) ids.insert(ToHex(id));
    return ids;
  }
  static std::set<std::string> IdsOf(const std::vector<std::string>& events) {
    std::set<std::string> ids;
    for (const std::string& event : events) ids.insert(IdOf(event));
    return ids;
  }
  std::set<std::string> IdsFor(Seat& client, const std::string& filter) { return IdsIn(Ask(client, Open(filter))); }

  // The whole dialogue of a client that has these events.
  SyncDifferences Sync(Seat& client, const std::vector<std::string>& events,
                       const std::string& filter = R"({"kinds":[1]})") {
    const SyncSet set = SetOf(events);
    SyncDifferences found;
    std::string say = Open(filter, Reconciler::FirstMessage(set, kFrameBytes));
    for (size_t round = 0; round < 100; ++round) {
      Reconciler side(set, MessageIn(Ask(client, say)), kFrameBytes, &found);
      const Result<bool> done = side.Next(UINT64_MAX / 2);
      EXPECT_TRUE(done.ok()) << done.status().message();
      const std::string message = side.Take();
      if (message.empty()) break;
      say = Message(message);
    }
    client.Say(R"(["NEG-CLOSE","n"])");
    std::sort(found.have.begin(), found.have.end());
    std::sort(found.need.begin(), found.need.end());
    return found;
  }
  static std::vector<EventId> SortedIds(const std::vector<std::string>& events) {
    EventParser parser;
    std::vector<EventId> ids;
    for (const std::string& json : events) ids.push_back(parser.Parse(json).value().view().id());
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  uint64_t Counted(const RelayCounters::Labelled& counts, std::string_view label) const {
    for (const auto& [name, count] : counts)
      if (name == label) return count;
    return 0;
  }
};

TEST_F(ClientSyncTest, AClientLearnsWhatItAndTheRelayLack) {
  const std::vector<std::string> both = Notes(900);
  const std::vector<std::string> only_relay = Notes(30, "relay");
  const std::vector<std::string> only_client = Notes(40, "client");
  Store(both);
  Store(only_relay);
  std::vector<std::string> of_client = both;
  of_client.insert(of_client.end(), only_client.begin(), only_client.end());
  Seat& client = Connect();
  const SyncDifferences found = Sync(client, of_client);
  EXPECT_EQ(found.have, SortedIds(only_client));
  EXPECT_EQ(found.need, SortedIds(only_relay));
  RunUntilAllIsGivenBack();
  EXPECT_GE(Counted(counters_.ClientMessages(), "NEG-MSG"), 1U);
  EXPECT_EQ(Counted(counters_.RelayMessages(), "NEG-MSG"), Counted(counters_.ClientMessages(), "NEG-MSG") + 1);
  EXPECT_EQ(Counted(counters_.ClientMessages(), "NEG-CLOSE"), 1U);
  EXPECT_EQ(counters_.OpenSyncs(), 0);
}

// A set that takes many slices of a worker, and whose client does not read for a while.
TEST_F(ClientSyncTest, ALargeSetIsGatheredInSlices) {
  const std::vector<std::string> notes = Notes(3000);
  Store(notes);
  store_.SetEventWork(kTurnWork / 10);
  Seat& client = Connect();
  const SyncDifferences found = Sync(client, {notes.begin() + 5, notes.end()});
  EXPECT_EQ(found.need, SortedIds({notes.begin(), notes.begin() + 5}));
  EXPECT_TRUE(found.have.empty());
  RunUntilAllIsGivenBack();
}

TEST_F(ClientSyncTest, TheSetIsThatOfTheOpening) {
  std::vector<std::string> notes = Notes(50);
  Store(notes);
  Seat& client = Connect();
  const SyncSet set = SetOf(Notes(40, "client"));
  const std::string first =
      MessageIn(Ask(client, Open(R"({"kinds":[1]})", Reconciler::FirstMessage(set, kFrameBytes))));
  Store(Notes(20, "later"));
  SyncDifferences found;
  Reconciler side(set, first, kFrameBytes, &found);
  ASSERT_TRUE(side.Next(kTurnWork).ok());
  const std::string all = Message(Reconciler::FirstMessage(SetOf({}), kFrameBytes));
  EXPECT_EQ(IdsIn(Ask(client, all)), IdsOf(notes));
  EXPECT_EQ(IdsIn(Ask(client, all)), IdsOf(notes)) << "every message has its answer";
}

TEST_F(ClientSyncTest, TheFilterAndItsLimitHold) {
  const std::vector<std::string> notes = Notes(20);  // the oldest first
  Store(notes);
  Store({signer_.SignedEvent(kNow, 7, "[]", "+")});
  Seat& client = Connect();
  EXPECT_EQ(IdsFor(client, R"({"kinds":[1]})"), IdsOf(notes));
  EXPECT_EQ(IdsFor(client, R"({"kinds":[1],"limit":3})"), IdsOf({notes.end() - 3, notes.end()}));
  EXPECT_EQ(IdsFor(client, R"({"kinds":[1],"limit":0})"), IdsOf({}));
  EXPECT_EQ(IdsFor(client, R"({"kinds":[5]})"), IdsOf({}));
  EXPECT_EQ(IdsFor(client, R"({"kinds":[]})"), IdsOf({}));
  EXPECT_EQ(IdsFor(client, "{}").size(), 21U);
}

TEST_F(ClientSyncTest, ASetThatIsTooBigIsBlockedWithTheMaximum) {
  settings_.max_sync_events = 5;
  Store(Notes(6));
  Seat& client = Connect();
  EXPECT_EQ(Ask(client, Open()),
            R"(["NEG-ERR","n","blocked: this query is too big: at most 5 events can be compared at once; narrow the )"
            R"(filter by time",5])");
  EXPECT_EQ(IdsFor(client, R"({"kinds":[1],"limit":5})").size(), 5U);
  EXPECT_EQ(Counted(counters_.Refusals(), "blocked"), 1U);
}

TEST_F(ClientSyncTest, AFilterThatMatchesLittleOfMuchIsRefused) {
  Store(Notes(100));
  store_.SetEventWork(Counting::kMostCounted / 10);
  Seat& client = Connect();
  EXPECT_TRUE(Ask(client, Open()).starts_with(R"(["NEG-ERR","n","restricted: this looks at too much)"));
}

TEST_F(ClientSyncTest, AnswersAreNoLongerThanMessagesMayBe) {
  Build();
  context_->max_message_bytes = 20'000;
  Store(Notes(600));
  Seat& client = Connect();
  const std::string answer = Ask(client, Open());
  EXPECT_LE(answer.size(), 20'000U);
  EXPECT_GE(answer.size(), 15'000U);
  EXPECT_EQ(Sync(client, {}).need.size(), 600U);
}

TEST_F(ClientSyncTest, TooManyOpenOnesAreRefused) {
  Seat& client = Connect();
  const std::string message = Reconciler::FirstMessage(SetOf({}), kFrameBytes);
  for (int n = 0; n < 8; ++n) MessageIn(Ask(client, Open("{}", message, std::to_string(n))), std::to_string(n));
  EXPECT_EQ(counters_.OpenSyncs(), 8);
  EXPECT_EQ(Ask(client, Open("{}", message, "8")),
            R"(["NEG-ERR","8","rate-limited: at most 8 NEG-OPENs of a connection may be open at once; NEG-CLOSE some )"
            R"(first"])");
  MessageIn(Ask(client, Open("{}", message, "7")), "7");
  client.Say(R"(["NEG-CLOSE","3"])");
  MessageIn(Ask(client, Open("{}", message, "8")), "8");
}

TEST_F(ClientSyncTest, AVersionThatIsNotKnownIsAnsweredWithTheRelays) {
  Seat& client = Connect();
  EXPECT_EQ(Ask(client, R"(["NEG-OPEN","n",{},"62aabb"])"), R"(["NEG-MSG","n","61"])");
  EXPECT_EQ(Ask(client, R"(["NEG-MSG","n","61"])"), R"(["NEG-MSG","n","61"])");
}

TEST_F(ClientSyncTest, ABadMessageEndsIt) {
  Seat& client = Connect();
  const std::string gone = R"(["NEG-ERR","n","closed: no NEG-OPEN with this id is open; it may have been closed"])";
  EXPECT_EQ(Ask(client, R"(["NEG-MSG","n","61"])"), gone);
  EXPECT_EQ(Ask(client, R"(["NEG-OPEN","n",{},"ff"])"),
            R"(["NEG-ERR","n","invalid: the message must begin with the version of the protocol, 61"])");
  for (const char* const bad : {"61000003", "6"}) {
    MessageIn(Ask(client, Open("{}")));
    EXPECT_TRUE(
        Ask(client, R"(["NEG-MSG","n",")" + std::string(bad) + "\"]").starts_with(R"(["NEG-ERR","n","invalid:)"));
    EXPECT_EQ(Ask(client, R"(["NEG-MSG","n","61"])"), gone);
  }
  EXPECT_TRUE(Ask(client, R"(["NEG-OPEN","n",{"kinds":1},"61"])").starts_with(R"(["NEG-ERR","n","invalid: filter 1)"));
  EXPECT_TRUE(Ask(client, R"(["NEG-OPEN",1])").starts_with(R"(["NOTICE","invalid: )"));
  client.Say(R"(["NEG-CLOSE","n"])");
  RunUntilIdle();
  EXPECT_TRUE(client->said.empty()) << "there is nothing to say to NEG-CLOSE";
  RunUntilAllIsGivenBack();
}

TEST_F(ClientSyncTest, AMessageMustWaitForTheAnswerToTheOneBefore) {
  Store(Notes(20));
  Seat& client = Connect();
  client.Say({Open(), R"(["NEG-MSG","n","61"])"});
  EXPECT_EQ(Hear(client)[0],
            R"(["NEG-ERR","n","invalid: the message before is not answered yet; send one at a time"])");
  RunUntilIdle();
  EXPECT_TRUE(client->said.empty()) << "it is closed, so there is no answer to the first";
  RunUntilAllIsGivenBack();
}

TEST_F(ClientSyncTest, ASilentOneIsClosed) {
  Seat& client = Connect();
  MessageIn(Ask(client, Open()));
  clock_.Advance(std::chrono::seconds(119));
  client.client->OnTick();
  EXPECT_EQ(Ask(client, R"(["NEG-MSG","n","61"])"), R"(["NEG-MSG","n","61"])");
  clock_.Advance(std::chrono::seconds(120));
  client.client->OnTick();
  EXPECT_TRUE(client->said.empty());
  clock_.Advance(std::chrono::seconds(1));
  client.client->OnTick();
  EXPECT_EQ(Hear(client)[0], R"(["NEG-ERR","n","closed: no NEG-MSG came for two minutes"])");
  RunUntilAllIsGivenBack();
}

TEST_F(ClientSyncTest, IdsOfReqsAreOthers) {
  Seat& client = Connect();
  EXPECT_EQ(Ask(client, R"(["REQ","n",{"kinds":[1],"limit":0}])"), R"(["EOSE","n"])");
  MessageIn(Ask(client, Open()));
  client.Say(R"(["CLOSE","n"])");
  EXPECT_EQ(Ask(client, R"(["NEG-MSG","n","61"])"), R"(["NEG-MSG","n","61"])");
  EXPECT_EQ(Ask(client, R"(["REQ","n",{"kinds":[1],"limit":0}])"), R"(["EOSE","n"])");
  client.Say(R"(["NEG-CLOSE","n"])");
  const std::string note = Note("live");
  Connect("192.0.2.2").Say(Publish(note));
  EXPECT_EQ(Hear(client)[0], R"(["EVENT","n",)" + note + "]");
}

TEST_F(ClientSyncTest, DirectMessagesAreForTheirParties) {
  settings_.url = "wss://relay.example";
  const Signer alice(1);
  const std::string letter = alice.SignedEvent(kNow, 4, R"([["p",")" + ToHex(Signer(2).pubkey()) + R"("]])", "secret");
  const std::string note = Note("note");
  Store({letter, note});
  Seat& client = Connect();
  EXPECT_EQ(IdsFor(client, "{}"), IdsOf({note}));
  client.Say(Open(R"({"kinds":[4]})"));
  const std::vector<std::string> said = Hear(client, 2);
  EXPECT_TRUE(said[1].starts_with(R"(["NEG-ERR","n","auth-required: )")) << said[1];
  const std::string challenge = said[0].substr(9, said[0].size() - 11);
  const std::string auth =
      alice.SignedEvent(kNow, 22242, R"([["relay","wss://relay.example"],["challenge",")" + challenge + "\"]]", "");
  EXPECT_EQ(Ask(client, "[\"AUTH\"," + auth + "]"), OkFor(auth));
  EXPECT_EQ(IdsFor(client, R"({"kinds":[4]})"), IdsOf({letter}));
  EXPECT_EQ(IdsFor(client, "{}"), IdsOf({letter, note}));
}

TEST_F(ClientSyncTest, TheRulesOfReadingHold) {
  settings_.auth_required = true;
  Seat& client = Connect();
  Hear(client);  // the challenge
  EXPECT_TRUE(Ask(client, Open()).starts_with(R"(["NEG-ERR","n","auth-required: )"));
  EXPECT_EQ(Counted(counters_.Refusals(), "auth-required"), 1U);
}

TEST_F(ClientSyncTest, HiddenAndBannedEventsAreLeftOut) {
  const Signer hidden(3);
  const Signer banned(4);
  const std::string note = Note("note");
  const std::string removed = Note("removed");
  Store({note, removed, hidden.SignedEvent(kNow, 1, "[]", "a"), banned.SignedEvent(kNow, 1, "[]", "b")});
  Build();
  RuleSet set;
  set.deny_read.authors = KeySet({hidden.pubkey()});
  context_->rules->Use(std::make_shared<Rules>(std::move(set)));
  DecidedLists& decided = context_->rules->decided();
  decided.banned_authors.Add(banned.pubkey());
  decided.banned_events.Add(SortedIds({removed}).front());
  Seat& client = Connect();
  EXPECT_EQ(IdsFor(client, R"({"kinds":[1]})"), IdsOf({note}));
  context_->rules->Use(std::make_shared<Rules>(RuleSet()));
  EXPECT_EQ(IdsFor(client, R"({"kinds":[1]})").size(), 2U) << "those of the banned author stay hidden";
  RuleSet closed;
  closed.deny_read.addresses = AddressSet({ParseNetwork("192.0.2.0/24").value()});
  context_->rules->Use(std::make_shared<Rules>(std::move(closed)));
  client.client->OnTick();
  EXPECT_TRUE(Hear(client)[0].starts_with(R"(["NEG-ERR","n","blocked: clients at your address)"));
  EXPECT_TRUE(Ask(client, Open()).starts_with(R"(["NEG-ERR","n","blocked: clients at your address)"));
}

TEST_F(ClientSyncTest, ASearchIsNotSupported) {
  settings_.search_kinds = "1";
  Seat& client = Connect();
  EXPECT_EQ(Ask(client, Open(R"({"search":"word"})")),
            R"(["NEG-ERR","n","unsupported: a NEG-OPEN cannot search; ask with a REQ"])");
}

TEST_F(ClientSyncTest, SetsCountAsMemoryOfTheirAddress) {
  Build(32 << 20, {}, {.address_bytes = 200 << 10});
  Store(Notes(6000));
  Seat& client = Connect();
  EXPECT_TRUE(Ask(client, Open()).starts_with(R"(["NEG-ERR","n","blocked: this query is too big for the memory)"));
  RunUntilAllIsGivenBack();
  EXPECT_EQ(MessageIn(Ask(client, Open(R"({"limit":2000})", "a"))), "a");
  RunUntilIdle();
  EXPECT_GE(ledger_->bytes(), 2000 * sizeof(SyncItem));
  EXPECT_LE(ledger_->bytes(), 2300 * sizeof(SyncItem));
  client.Say(R"(["NEG-CLOSE","n"])");
  RunUntilAllIsGivenBack();
}

TEST_F(ClientSyncTest, AClientThatLeavesLeavesNothingBehind) {
  Store(Notes(3000));
  store_.SetEventWork(kTurnWork / 10);
  Seat& gathering = Connect();
  gathering.Say(Open());
  Seat& open = Connect();
  MessageIn(Ask(open, Open(R"({"limit":10})")));
  EXPECT_GE(counters_.OpenSyncs(), 1);
  End(gathering);
  End(open);
  RunUntilAllIsGivenBack();
  EXPECT_EQ(counters_.OpenSyncs(), 0);
}

// A NEG-MSG is not answered while much output waits, so that a client that does not read cannot pile up answers.
TEST_F(ClientSyncTest, AClientThatDoesNotReadGetsNoMoreAnswers) {
  Store(Notes(600));
  Seat& client = Connect();
  const std::string all = Message(Reconciler::FirstMessage(SetOf({}), kFrameBytes));
  MessageIn(Ask(client, Open()));
  client->takes = false;
  client->pending = 1 << 20;
  client.Say(all);
  RunUntilIdle();
  EXPECT_TRUE(client->said.empty());
  client->TakeAll();
  EXPECT_EQ(IdsIn(Hear(client)[0]).size(), 600U);
}

TEST_F(ClientSyncTest, ZeroEventsMeanThatThereIsNone) {
  settings_.max_sync_events = 0;
  Seat& client = Connect();
  for (int n = 0; n < 150; ++n) {
    EXPECT_EQ(Ask(client, Open()), R"(["NEG-ERR","n","blocked: negentropy is not supported here; use REQ"])");
    client.Say(R"(["NEG-CLOSE","n"])");
  }
  EXPECT_TRUE(client->closed.empty());
}

TEST_F(ClientSyncTest, AReadPluginIsAskedAboutTheOpening) {
  ScriptedPlugin script;
  const std::unique_ptr<PolicyPlugin> plugin = PolicyPlugin::Start(script.Options(clock_)).value();
  Build();
  context_->read_plugin = plugin.get();
  Store(Notes(10));
  Seat& client = Connect();
  const auto judge = [&](const std::string& action) {
    client.Say(Open());
    const std::string question = script.Hear();
    EXPECT_TRUE(Has(question, R"("verb":"NEG-OPEN","subscription":"n")")) << question;
    const size_t id = question.find("\"id\":\"") + 6;
    script.Answer(question.substr(id, question.find('"', id) - id), action, "no");
    return Hear(client)[0];
  };
  EXPECT_EQ(IdsIn(judge("accept")).size(), 10U);
  EXPECT_TRUE(IdsIn(judge("shadowReject")).empty());
  EXPECT_EQ(Ask(client, R"(["NEG-MSG","n","61"])"), R"(["NEG-MSG","n","61"])") << "as if no event matched";
  EXPECT_EQ(judge("reject"), R"(["NEG-ERR","n","blocked: no"])");
  RunUntilAllIsGivenBack();
  plugin->Stop();
}

TEST_F(ClientSyncTest, AStoreThatFailsIsAnError) {
  Store(Notes(10));
  store_.ThrowInQuery();
  Seat& client = Connect();
  EXPECT_TRUE(Ask(client, Open()).starts_with(R"(["NEG-ERR","n","error: this could not be answered)"));
  RunUntilAllIsGivenBack();
}

}  // namespace
}  // namespace weir
