// Two relays on one PostgreSQL: what comes to one reaches the subscribers of both.
#include "relay/siblings/siblings.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/relay.h"
#include "relay/storage/storage.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/fixtures/redis_process.h"
#include "tests/fixtures/temp_directory.h"
#include "tests/relay/store/postgres/postgres_fixture.h"
#include "tests/relay/web_client.h"

namespace weir {
namespace {

constexpr const char* kUrl = "wss://weir.example";

std::string IdIn(const std::string& event_json) { return std::string(FindId(event_json)); }

class SiblingsTest : public testing::Test {
 protected:
  RelayConfiguration Configuration(const std::string& origin) {
    RelayConfiguration configuration;
    directories_.push_back(std::make_unique<TempDirectory>());
    configuration.data_dir = directories_.back()->path();
    configuration.server.port = 0;
    configuration.relay.url = kUrl;
    configuration.relay.auth = true;
    configuration.storage.memory.target_memory_mb = 4096;
    configuration.storage.store = "postgres://weir@127.0.0.1:" + std::to_string(SharedPostgres().port()) + "/" + name();
    configuration.storage.postgres.origin = origin;
    configuration.storage.siblings.bus = bus_;
    return configuration;
  }
  std::unique_ptr<Relay> Open(const std::string& origin) {
    auto opened = Relay::Open(Configuration(origin));
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    if (!opened.ok()) return nullptr;
    opened.value()->Accept();
    return std::move(opened).value();
  }
  void OpenBoth() {
    first_ = Open("first");
    second_ = Open("second");
    ASSERT_TRUE(first_ != nullptr && second_ != nullptr);
  }
  std::string name() const { return database_.conninfo().substr(database_.conninfo().rfind('=') + 1); }

  uint64_t Now() const { return WallClock::System().NowSeconds(); }
  std::string Note(const std::string& content) const { return signer_.SignedEvent(Now(), 1, "[]", content); }
  static std::string Publish(WebClient& client, const std::string& event) {
    client.Send("[\"EVENT\"," + event + "]");
    return client.ReadUntil("[\"OK\"").back();
  }
  static std::string Accepted(const std::string& event) { return "[\"OK\",\"" + IdIn(event) + "\",true,\"\"]"; }
  static void Subscribe(WebClient& client, const std::string& filter) {
    client.Send("[\"REQ\",\"live\"," + filter + "]");
    client.ReadUntil("[\"EOSE\"");
  }
  static std::string Live(const std::string& event) { return "[\"EVENT\",\"live\"," + event + "]"; }
  // "AUTH" may come before what is asked for.
  static std::string NextEvent(WebClient& client) { return client.ReadUntil("[\"EVENT\"").back(); }
  std::string Metric(Relay& relay, const std::string& line) const {
    const std::string all = HttpGet(relay.port(), "/metrics").second;
    const size_t at = all.find("\n" + line + " ");
    return at == all.npos ? "" : all.substr(at + line.size() + 2, all.find('\n', at + 1) - at - line.size() - 2);
  }

  std::string bus_ = "notify";
  PostgresDatabase database_;
  std::vector<std::unique_ptr<TempDirectory>> directories_;
  Signer signer_{7};
  std::unique_ptr<Relay> first_;
  std::unique_ptr<Relay> second_;
};

TEST_F(SiblingsTest, WhatIsPublishedOnOneIsLiveOnBothOnce) {
  OpenBoth();
  WebClient here(first_->port());
  WebClient there(second_->port());
  Subscribe(here, R"({"kinds":[1]})");
  Subscribe(there, R"({"kinds":[1]})");
  WebClient writer(first_->port());
  WebClient other_writer(second_->port());
  std::set<std::string> expected;
  for (int i = 0; i < 50; ++i) {
    const std::string note = Note("number " + std::to_string(i));
    EXPECT_EQ(Publish(i % 2 == 0 ? writer : other_writer, note), Accepted(note));
    expected.insert(Live(note));
  }
  for (WebClient* const reader : {&here, &there}) {
    std::multiset<std::string> heard;
    while (heard.size() < expected.size()) heard.insert(NextEvent(*reader));
    EXPECT_EQ(heard, std::multiset<std::string>(expected.begin(), expected.end()));
  }
}

// What a query found stored is not told again when it is read as news, and nothing falls between.
TEST_F(SiblingsTest, WhoSubscribesWhileEventsComeGetsEachOnce) {
  OpenBoth();
  constexpr int kNotes = 300;
  std::thread publishes([&] {
    WebClient writer(first_->port());
    for (int i = 0; i < kNotes; ++i) Publish(writer, Note("while " + std::to_string(i)));
  });
  std::vector<std::unique_ptr<WebClient>> readers;
  for (int i = 0; i < 10; ++i) {
    readers.push_back(std::make_unique<WebClient>(second_->port()));
    readers.back()->Send(R"(["REQ","live",{"kinds":[1],"limit":1000}])");
    std::this_thread::yield();
  }
  publishes.join();
  WebClient writer(first_->port());
  const std::string last = Note("the last");
  EXPECT_EQ(Publish(writer, last), Accepted(last));
  for (const auto& reader : readers) {
    std::map<std::string, int> heard;
    for (const std::string& message : reader->ReadUntil(Live(last)))
      if (message.starts_with("[\"EVENT\"")) ++heard[message];
    EXPECT_EQ(heard.size(), kNotes + 1U);
    for (const auto& [event, times] : heard) EXPECT_EQ(times, 1) << event;
  }
}

// Both may be told the same WEIR_ORIGIN.
TEST_F(SiblingsTest, AnImportBesideARelayLeavesItItsName) {
  first_ = Open("first");
  ASSERT_NE(first_, nullptr);
  const RelayConfiguration configuration = Configuration("first");
  auto import =
      Storage::Open({.settings = configuration.storage, .data_dir = configuration.data_dir, .for_import = true});
  ASSERT_TRUE(import.ok()) << import.status().message();
  WebClient writer(first_->port());
  const std::string note = Note("beside an import");
  EXPECT_EQ(Publish(writer, note), Accepted(note));
}

TEST_F(SiblingsTest, ADeletionOnOneHoldsOnTheOther) {
  OpenBoth();
  WebClient here(first_->port());
  WebClient there(second_->port());
  const std::string note = Note("to be deleted");
  Publish(here, note);
  const std::string deletion = signer_.SignedEvent(Now(), 5, "[[\"e\",\"" + IdIn(note) + "\"]]", "");
  EXPECT_EQ(Publish(there, deletion), Accepted(deletion));
  EXPECT_NE(Publish(here, note).find("its author deleted it"), std::string::npos);
}

TEST_F(SiblingsTest, WhoVanishesOnOneIsGoneFromTheOther) {
  OpenBoth();
  WebClient here(first_->port());
  WebClient there(second_->port());
  const std::string note = Note("to vanish");
  Publish(here, note);
  const std::string request = signer_.SignedEvent(Now(), 62, R"([["relay","ALL_RELAYS"]])", "");
  EXPECT_EQ(Publish(there, request), Accepted(request));
  EXPECT_TRUE(Eventually([&] {
    here.Send(R"(["COUNT","c",{"kinds":[1]}])");
    return here.ReadUntil("[\"COUNT\"").back() == R"(["COUNT","c",{"count":0}])";
  }));
  EXPECT_NE(Publish(here, note).find("asked to vanish"), std::string::npos);
}

TEST_F(SiblingsTest, AGiftWrapReachesItsRecipientAloneAlsoOnTheOther) {
  OpenBoth();
  const Signer recipient{8};
  WebClient stranger(second_->port());
  Subscribe(stranger, R"({"kinds":[1,1059]})");
  WebClient reader(second_->port());
  reader.Send(R"(["REQ","asks",{"kinds":[1059]}])");
  const std::string auth = reader.ReadUntil("[\"AUTH\"").back();
  const std::string challenge = auth.substr(9, auth.find('"', 9) - 9);
  reader.Send("[\"AUTH\"," +
              recipient.SignedEvent(Now(), 22242,
                                    std::string(R"([["relay",")") + kUrl + R"("],["challenge",")" + challenge + "\"]]",
                                    "") +
              "]");
  reader.ReadUntil("[\"OK\"");
  Subscribe(reader, R"({"kinds":[1,1059]})");
  WebClient writer(first_->port());
  const std::string wrap =
      signer_.SignedEvent(Now(), 1059, "[[\"p\",\"" + ToHex(recipient.pubkey()) + "\"]]", "sealed");
  EXPECT_EQ(Publish(writer, wrap), Accepted(wrap));
  const std::string note = Note("for all");
  Publish(writer, note);
  EXPECT_EQ(NextEvent(reader), Live(wrap));
  EXPECT_EQ(NextEvent(stranger), Live(note)) << "the wrap came before it";
}

class BusTest : public SiblingsTest {
 protected:
  void ExpectEphemeral(size_t bytes) {
    WebClient reader(second_->port());
    Subscribe(reader, R"({"kinds":[20001]})");
    WebClient writer(first_->port());
    const std::string event = signer_.SignedEvent(Now(), 20001, "[]", std::string(bytes, 'x'));
    EXPECT_EQ(Publish(writer, event), Accepted(event));
    EXPECT_EQ(NextEvent(reader), Live(event));
  }
};

TEST_F(BusTest, EphemeralEventsGoByNotify) {
  OpenBoth();
  EXPECT_TRUE(Eventually([&] {
    return Metric(*first_, "weir_siblings_bus_up") == "1" && Metric(*second_, "weir_siblings_bus_up") == "1";
  }));
  ExpectEphemeral(7000);
  WebClient writer(first_->port());
  const std::string large = signer_.SignedEvent(Now(), 20001, "[]", std::string(9000, 'x'));
  EXPECT_EQ(Publish(writer, large), Accepted(large)) << "here it is delivered all the same";
  EXPECT_TRUE(Eventually([&] { return Metric(*first_, R"(weir_siblings_lost_total{reason="too_large"})") == "1"; }));
}

TEST_F(BusTest, LargeEphemeralEventsGoByRedis) {
  RedisProcess redis({.config = {}, .user = "", .password = "secret"});
  bus_ = "redis://:secret@" + redis.address();
  OpenBoth();
  EXPECT_TRUE(Eventually([&] {
    return Metric(*first_, "weir_siblings_bus_up") == "1" && Metric(*second_, "weir_siblings_bus_up") == "1";
  }));
  ExpectEphemeral(20'000);
  redis.Restart(RedisProcess::Data::kEmpty);
  EXPECT_TRUE(Eventually([&] {
    return redis
               .Command(
                   {"PUBSUB", "NUMSUB", "weir:" + database_.Ask("SELECT value FROM weir_meta WHERE key = 'database'")})
               .items.at(1)
               .integer == 2;
  }));
  ExpectEphemeral(20'001);
}

// It is nobody's who says that he is.
TEST_F(BusTest, AForgedEphemeralEventIsDropped) {
  OpenBoth();
  EXPECT_TRUE(Eventually([&] { return Metric(*second_, "weir_siblings_bus_up") == "1"; }));
  WebClient reader(second_->port());
  Subscribe(reader, R"({"kinds":[20001]})");
  std::string forged = signer_.SignedEvent(Now(), 20001, "[]", "forged");
  const size_t signature = forged.find("\"sig\":\"") + 7;
  forged[signature] = forged[signature] == '0' ? '1' : '0';
  database_.Ask("SELECT pg_notify('weir', '0123456789abcdefe" + forged + "')");
  database_.Ask("SELECT pg_notify('weir', 'x')");
  const std::string good = signer_.SignedEvent(Now(), 20001, "[]", "good");
  database_.Ask("SELECT pg_notify('weir', '0123456789abcdefe" + good + "')");
  EXPECT_EQ(NextEvent(reader), Live(good));
}

TEST_F(BusTest, WithoutItStoredEventsComeAllTheSame) {
  bus_ = "redis://127.0.0.1:1";
  OpenBoth();
  WebClient reader(second_->port());
  Subscribe(reader, R"({"kinds":[1]})");
  WebClient writer(first_->port());
  const std::string note = Note("found by looking");
  EXPECT_EQ(Publish(writer, note), Accepted(note));
  EXPECT_EQ(NextEvent(reader), Live(note));
  EXPECT_EQ(Metric(*second_, "weir_siblings_bus_up"), "0");
}

// The server goes away and comes back: nothing that was saved meanwhile is missed.
TEST_F(SiblingsTest, WhatIsSavedWhileTheyAreCutOffIsTheirsWhenTheyAreBack) {
  OpenBoth();
  WebClient reader(second_->port());
  Subscribe(reader, R"({"kinds":[1]})");
  database_.Ask(
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
      " WHERE datname = current_database() AND pid <> pg_backend_pid()");
  WebClient writer(first_->port());
  const std::string note = Note("all connections were cut before");
  EXPECT_EQ(Publish(writer, note), Accepted(note));
  EXPECT_EQ(NextEvent(reader), Live(note));
}

// The stores alone.
class NewsTest : public testing::Test {
 protected:
  static Event NoteOf(uint64_t number) { return ToEvent(Plain(Author(1), RandomNostr::kStart + number, 1)); }
  static void Save(EventStore& store, const Event& event, bool is_history = false) {
    SaveResult result;
    const std::span<const Event> events(&event, 1);
    const auto saved = is_history ? store.SaveSomeHistory(events, 0, kTurnWork, {&result, 1})
                                  : store.SaveSome(events, 0, kTurnWork, {&result, 1});
    ASSERT_TRUE(saved.ok()) << saved.status().message();
    EXPECT_EQ(result.outcome, SaveOutcome::kSaved);
  }
  static std::vector<uint64_t> TimesOf(const Result<std::vector<SharedEvent>>& events) {
    EXPECT_TRUE(events.ok()) << events.status().message();
    std::vector<uint64_t> times;
    for (const SharedEvent& event : events.value())
      times.push_back(event.event.view().created_at() - RandomNostr::kStart);
    return times;
  }
  static constexpr auto kSomebody = [] { return true; };
  static constexpr auto kNobody = [] { return false; };

  PostgresDatabase database_;
};

TEST_F(NewsTest, AreWhatOthersSavedSinceInTheirOrderButNoHistory) {
  const auto here = MustOpen(database_.Options("here"));
  const auto there = MustOpen(database_.Options("there"));
  PostgresNews news(*here, here->Now().value());
  Save(*there, NoteOf(1));
  Save(*here, NoteOf(2));
  Save(*there, NoteOf(3), true);
  Save(*there, NoteOf(4));
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{1, 4}));
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{}));
  Save(*there, NoteOf(5));
  EXPECT_EQ(TimesOf(news.Read(kNobody)), (std::vector<uint64_t>{}));
  const auto late = MustOpen(database_.Options("late"));
  Save(*late, NoteOf(6));
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{6})) << "5 was passed over, while nobody listened";
}

TEST_F(NewsTest, ComeInPieces) {
  const auto here = MustOpen(database_.Options("here"));
  const auto there = MustOpen(database_.Options("there"));
  PostgresNews news(*here, here->Now().value());
  std::vector<uint64_t> expected;
  for (uint64_t i = 0; i < 150; ++i) {
    Save(*there, NoteOf(i));
    if (i != 70) expected.push_back(i);
  }
  EXPECT_EQ(there->Delete(std::vector{NoteOf(70).view().id()}).value(), 1U);
  std::vector<uint64_t> all;
  do {
    for (const uint64_t time : TimesOf(news.Read(kSomebody))) all.push_back(time);
  } while (news.more());
  EXPECT_EQ(all, expected);
}

TEST_F(NewsTest, ComeInPiecesOfBoundedBytes) {
  const auto here = MustOpen(database_.Options("here"));
  const auto there = MustOpen(database_.Options("there"));
  PostgresNews news(*here, here->Now().value());
  constexpr uint64_t kLarge = 30;
  for (uint64_t i = 0; i < kLarge; ++i)
    Save(*there, ToEvent(Plain(Author(1), RandomNostr::kStart + i, 1, {}, std::string(120'000, 'x'))));
  std::vector<uint64_t> all;
  int pieces = 0;
  do {
    const std::vector<uint64_t> times = TimesOf(news.Read(kSomebody));
    EXPECT_LE(times.size(), 9U);
    all.insert(all.end(), times.begin(), times.end());
    ++pieces;
  } while (news.more());
  ASSERT_EQ(all.size(), kLarge);
  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_GE(pieces, 4);
}

// A server that is away is asked again at the pace of who looks, not of what had come before.
TEST_F(NewsTest, KnowOfNothingMoreWhereTheyCannotBeRead) {
  PostgresProcess server({"fsync=off"});
  const PostgresStoreOptions options{.conninfo = server.conninfo(), .settings = {.origin = "here"}};
  const auto here = MustOpen(options);
  PostgresStoreOptions other = options;
  other.settings.origin = "there";
  const auto there = MustOpen(other);
  PostgresNews news(*here, here->Now().value());
  for (uint64_t i = 0; i < 100; ++i) Save(*there, NoteOf(i));
  EXPECT_TRUE(news.Read(kSomebody).ok());
  EXPECT_TRUE(news.more());
  server.Kill();
  EXPECT_FALSE(news.Read(kSomebody).ok());
  EXPECT_FALSE(news.more());
}

// A standby that was promoted may lack the last events. Their numbers are others' places in what they have read.
TEST_F(NewsTest, HaveNewNumbersAfterAServerForgotTheLast) {
  const auto here = MustOpen(database_.Options("here"));
  const auto there = MustOpen(database_.Options("there"));
  PostgresNews news(*here, here->Now().value());
  Save(*there, NoteOf(1));
  Save(*there, NoteOf(2));
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{1, 2}));
  database_.Ask("DELETE FROM weir_events WHERE serial = 2");
  database_.Ask("UPDATE weir_origins SET serial = 1 WHERE name = 'there'");
  Save(*there, NoteOf(3));
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{3}));
}

TEST_F(NewsTest, AreWhatTheOneSavesWhoTookTheName) {
  const auto before = MustOpen(database_.Options("same"));
  PostgresNews news(*before, before->Now().value());
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{}));
  EXPECT_FALSE(news.name_is_taken());
  const auto after = MustOpen(database_.Options("same"));
  Save(*after, NoteOf(1));
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{1}));
  EXPECT_TRUE(news.name_is_taken());
}

// The shortcut for duplicates is off while something is owed, and on again when another relay has done it.
TEST_F(NewsTest, TellThatNothingIsOwedAnyMore) {
  const auto here = MustOpen(database_.Options("here"));
  const auto there = MustOpen(database_.Options("there"));
  const auto settle = [](EventStore& store) {
    while (store.RemoveVanished(kTurnWork).value().more) {
    }
  };
  settle(*here);
  PostgresNews news(*here, here->Now().value());
  Save(*there, ToEvent(Plain(Author(1), RandomNostr::kStart, 62, {{"relay", "ALL_RELAYS"}}, "")));
  EXPECT_TRUE(news.Read(kSomebody).ok());
  EXPECT_TRUE(here->owes_vanishing());
  settle(*there);
  EXPECT_TRUE(news.Read(kSomebody).ok());
  EXPECT_FALSE(here->owes_vanishing());
}

// Who saved it was told of an error, so its subscribers have not heard of it.
TEST_F(NewsTest, AreAlsoWhatThisOneSavedWithoutKnowing) {
  const auto here = MustOpen(database_.Options("here"));
  PostgresNews news(*here, here->Now().value());
  Save(*here, NoteOf(1));
  // What a COMMIT leaves whose answer is lost.
  database_.Ask("UPDATE weir_origins SET serial = 2, events = 2");
  database_.Ask(
      "INSERT INTO weir_events SELECT sha256(id), origin, 2, pubkey, kind, created_at, expiration, record"
      " FROM weir_events");
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{}));
  Save(*here, NoteOf(3));
  const Result<std::vector<SharedEvent>> events = news.Read(kSomebody);
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events.value().size(), 1U);
  EXPECT_EQ(events.value()[0].serial, (Serial{1, 2}));
  EXPECT_EQ(TimesOf(news.Read(kSomebody)), (std::vector<uint64_t>{}));
}

// The one sees no deletion and the other no event, unless one waits for the other.
TEST_F(NewsTest, AnEventAndItsDeletionAtTheSameTimeLeaveNothing) {
  const auto here = MustOpen(database_.Options("here"));
  const auto there = MustOpen(database_.Options("there"));
  for (uint64_t round = 0; round < 60; ++round) {
    const Event note = NoteOf(round);
    const Event deletion = ToEvent(
        Plain(Author(1), RandomNostr::kStart + round, 5, {{"e", ToHex(note.view().id())}}, std::to_string(round)));
    SaveResult deleted;
    std::thread deletes([&] {
      const auto saved = there->SaveSome({&deletion, 1}, 0, kTurnWork, {&deleted, 1});
      EXPECT_TRUE(saved.ok()) << saved.status().message();
    });
    SaveResult result;
    const auto saved = here->SaveSome({&note, 1}, 0, kTurnWork, {&result, 1});
    EXPECT_TRUE(saved.ok()) << saved.status().message();
    deletes.join();
    ASSERT_FALSE(here->Has(note.view().id()).value()) << "round " << round;
    ASSERT_EQ(deleted.outcome, SaveOutcome::kSaved);
  }
}

TEST_F(NewsTest, WhoTakesAnOthersNameIsTheOnlyOneWhoSaves) {
  const auto before = MustOpen(database_.Options("same"));
  const auto after = MustOpen(database_.Options("same"));
  SaveResult result;
  const Event note = NoteOf(1);
  const auto refused = before->SaveSome({&note, 1}, 0, kTurnWork, {&result, 1});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("give every relay and import a WEIR_ORIGIN of its own"), std::string::npos)
      << refused.status().message();
  Save(*after, note);
}

}  // namespace
}  // namespace weir
