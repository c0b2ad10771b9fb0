// Two relays on one PostgreSQL: what comes to one reaches the subscribers of both.
#include "relay/store/siblings/siblings.h"

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
#include "relay/store/storage/storage.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/random_nostr.h"
#include "tests/fixtures/redis_process.h"
#include "tests/fixtures/temp_directory.h"
#include "tests/fixtures/web_client.h"
#include "tests/relay/store/postgres/postgres_fixture.h"

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
    configuration.storage.store = database_.url();
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

TEST_F(SiblingsTest, AnEventPublishedOnOneIsLiveOnBothOnce) {
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

// An event that a query found stored is not told again when it is read as news, and none falls between.
TEST_F(SiblingsTest, ANewSubscriberGetsEachEventOnceWhileEventsCome) {
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

// Both may be given the same WEIR_ORIGIN.
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
  EXPECT_TRUE(Has(Publish(here, note), "its author deleted it"));
}

TEST_F(SiblingsTest, AnAuthorWhoVanishesOnOneIsGoneFromTheOther) {
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
  EXPECT_TRUE(Has(Publish(here, note), "asked to vanish"));
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

// It does not come from the author that it names.
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
TEST_F(SiblingsTest, EventsSavedWhileTheyAreCutOffComeWhenTheyAreBack) {
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

}  // namespace
}  // namespace weir
