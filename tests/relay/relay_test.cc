#include "relay/relay.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "tests/fixtures/engine_options.h"
#include "tests/fixtures/failing_disk.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/web_client.h"
#include "tests/relay/relay_server_fixture.h"

namespace weir {
namespace {

using std::chrono::seconds;

std::string IdOf(const std::string& event_json) { return std::string(FindId(event_json)); }
std::string Publish(const std::string& event_json) { return "[\"EVENT\"," + event_json + "]"; }
std::string Ok(const std::string& event_json, const std::string& text = "") {
  return "[\"OK\",\"" + IdOf(event_json) + "\",true,\"" + text + "\"]";
}

class RelayTest : public RelayServerTest {
 protected:
  uint64_t Now() const { return WallClock::System().NowSeconds(); }
  std::string Note(const std::string& content, uint64_t age = 0, const std::string& tags = "[]") const {
    return signer_.SignedEvent(Now() - age, 1, tags, content);
  }

  Signer signer_{7};
};

// RocksDB's brakes are moved out of the way of a throttle that is always there, and of no other.
TEST_F(RelayTest, RocksDbKeepsItsBrakesIfTheThrottleIsOffOrMayOpen) {
  const auto slowdown = [&] {
    Open();
    relay_.reset();
    return EngineOption(directory_ / "data/events", "level0_slowdown_writes_trigger");
  };
  EXPECT_EQ(slowdown(), (std::set<std::string>{"28", "56"}));
  configuration_.storage.limiter.enabled = false;
  EXPECT_EQ(slowdown(), (std::set<std::string>{"12", "24"}));
  configuration_.storage.limiter = {.on_sensor_loss = SensorLoss::kOpen};
  EXPECT_EQ(slowdown(), (std::set<std::string>{"12", "24"}));
}

TEST_F(RelayTest, PublishesQueriesAndDeliversLive) {
  Open();
  WebClient reader(relay_->port());
  reader.Send(R"(["REQ","live",{"kinds":[1]}])");
  EXPECT_EQ(reader.Read(), R"(["EOSE","live"])");

  WebClient writer(relay_->port());
  const std::string note = Note("hello");
  writer.Send(Publish(note));
  EXPECT_EQ(writer.Read(), Ok(note));
  EXPECT_EQ(reader.Read(), R"(["EVENT","live",)" + note + "]");

  writer.Send(Publish(note));
  EXPECT_EQ(writer.Read(), Ok(note, "duplicate: already have this event"));

  writer.Send(R"(["REQ","q",{"ids":[")" + IdOf(note) + R"("]}])");
  EXPECT_EQ(writer.Read(), R"(["EVENT","q",)" + note + "]");
  EXPECT_EQ(writer.Read(), R"(["EOSE","q"])");
  writer.Send(R"(["COUNT","c",{"kinds":[1]}])");
  EXPECT_EQ(writer.Read(), R"(["COUNT","c",{"count":1}])");
}

// The bytes in flight follow the budget of own bytes, and those that wait are no reason to refuse or to disconnect.
TEST_F(RelayTest, ACrowdThatSendsTooFastForLittleMemoryGetsEveryOk) {
  constexpr int kClients = 45;
  constexpr int kNotes = 64;
  configuration_.storage.monitor.own_budget_mb = 16;  // the budget of a target of 128 MiB
  Open();
  std::atomic<int> saved = 0;
  // A busy machine may not let a client send its handshake in time while the others already work.
  std::vector<WebClient> clients;
  for (int n = 0; n < kClients; ++n) clients.emplace_back(relay_->port());
  std::vector<std::jthread> crowd;
  for (uint64_t n = 0; n < kClients; ++n) {
    crowd.emplace_back([&, n, &client = clients[n]] {
      const Signer signer(100 + n);
      const std::string content(20'000, static_cast<char>('a' + n % 26));
      std::vector<std::string> notes;
      for (int i = 0; i < kNotes; ++i) notes.push_back(signer.SignedEvent(Now(), 1, "[]", std::to_string(i) + content));
      try {
        for (const std::string& note : notes) client.Send(Publish(note));
        for (int i = 0; i < kNotes; ++i) saved += client.Read().value_or("").ends_with(",true,\"\"]") ? 1 : 0;
      } catch (const boost::system::system_error& error) {
        ADD_FAILURE() << error.what();
      }
    });
  }
  crowd.clear();
  EXPECT_EQ(saved, kClients * kNotes);
}

TEST_F(RelayTest, AnswersPlainHttp) {
  Open();
  EXPECT_EQ(HttpGet(relay_->port(), "/healthz").first, 200);
  EXPECT_EQ(HttpGet(relay_->port(), "/readyz"), std::pair(200, std::string("ready\n")));
  EXPECT_TRUE(Has(HttpGet(relay_->port(), "/metrics").second, "nostr_relay_messages_total"));
  EXPECT_TRUE(Has(HttpGet(relay_->port(), "/", "application/nostr+json").second, "supported_nips"));
}

TEST_F(RelayTest, ReportsAFailedDiskWithoutItsPath) {
  Open();
  WebClient writer(relay_->port());
  const FailingSyncs failing;
  writer.Send(Publish(Note("lost")));
  const std::string refused = writer.Read().value_or("");
  const auto [status, ready] = HttpGet(relay_->port(), "/readyz");
  EXPECT_EQ(status, 503);
  for (const std::string& told : {refused, ready}) {
    EXPECT_TRUE(Has(told, "nothing can be saved until this program is started again")) << told;
    EXPECT_FALSE(Has(told, "/")) << told;
  }
}

TEST_F(RelayTest, ShutdownAnswersWhatItTookAndClosesConnections) {
  Open();
  WebClient reader(relay_->port());
  reader.Send(R"(["REQ","live",{"kinds":[1]}])");
  EXPECT_EQ(reader.Read(), R"(["EOSE","live"])");
  WebClient writer(relay_->port());
  const std::string note = Note("the last");
  writer.Send(Publish(note));
  EXPECT_EQ(writer.Read(), Ok(note));

  std::thread stopper([this] { relay_->Shutdown(seconds(5)); });
  EXPECT_EQ(reader.Read(), R"(["EVENT","live",)" + note + "]");
  EXPECT_EQ(reader.Read(), std::nullopt) << "no CLOSED: the subscription outlives the connection";
  EXPECT_EQ(writer.Read(), std::nullopt);
  stopper.join();
  relay_.reset();

  Open();
  WebClient again(relay_->port());
  again.Send(R"(["REQ","q",{"kinds":[1]}])");
  EXPECT_EQ(again.Read(), R"(["EVENT","q",)" + note + "]");
}

TEST_F(RelayTest, AnswersEveryEventOfAFloodAndServesOthersMeanwhile) {
  Open();
  constexpr size_t kEvents = 2000;
  std::vector<std::string> notes;
  for (size_t i = 0; i < kEvents; ++i) notes.push_back(Note("note " + std::to_string(i)));

  WebClient flooder(relay_->port());
  WebClient live(relay_->port());
  live.Send(R"(["REQ","l",{"kinds":[1]}])");
  live.ReadUntil("[\"EOSE\"");
  std::set<std::string> answered;
  for (size_t sent = 0; answered.size() < kEvents;) {
    for (; sent < kEvents && sent < answered.size() + 300; ++sent) flooder.Send(Publish(notes[sent]));
    const auto answer = flooder.Read();
    ASSERT_TRUE(answer.has_value());
    ASSERT_TRUE(answer->ends_with(",true,\"\"]")) << *answer;
    answered.insert(*answer);
  }
  std::set<std::string> delivered;
  while (delivered.size() < kEvents) {
    const auto event = live.Read();
    ASSERT_TRUE(event.has_value());
    ASSERT_TRUE(delivered.insert(*event).second) << "twice: " << *event;
  }
}

// Events that are saved while REQs come are received by each REQ exactly once, stored or live.
TEST_F(RelayTest, EachEventArrivesOnceEitherStoredOrLive) {
  Open();
  constexpr size_t kEvents = 1500;
  std::vector<std::string> notes;
  for (size_t i = 0; i < kEvents; ++i) notes.push_back(Note("note " + std::to_string(i)));
  std::atomic<bool> done{false};
  std::thread writer([&] {
    WebClient client(relay_->port());
    size_t sent = 0;
    for (size_t answered = 0; answered < kEvents; ++answered) {
      for (; sent < kEvents && sent < answered + 50; ++sent) client.Send(Publish(notes[sent]));
      const auto answer = client.Read();
      EXPECT_TRUE(answer && answer->ends_with(",true,\"\"]")) << answer.value_or("no answer");
    }
    done = true;
  });
  std::vector<std::thread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&, r] {
      while (!done) {
        WebClient client(relay_->port());
        client.Send(R"(["REQ","r",{"kinds":[1],"limit":5000}])");
        std::set<std::string> seen;
        while (seen.size() < kEvents) {
          const auto message = client.Read();
          if (!message) {
            ADD_FAILURE() << "reader " << r << " has " << seen.size() << " only";
            return;
          }
          if (!message->starts_with("[\"EVENT\"")) continue;
          EXPECT_TRUE(seen.insert(*message).second) << "twice: " << *message;
        }
      }
    });
  }
  writer.join();
  for (std::thread& reader : readers) reader.join();
}

TEST_F(RelayTest, SaysWhyItCannotOpen) {
  Open();
  const auto second = Relay::Open(configuration_);
  ASSERT_FALSE(second.ok());
  EXPECT_TRUE(Has(second.status().message(), "is in use by process")) << second.status().message();
}

TEST_F(RelayTest, WorksWithoutThrottle) {
  configuration_.storage.limiter.enabled = false;
  Open();
  WebClient client(relay_->port());
  const std::string note = Note("unthrottled");
  client.Send(Publish(note));
  EXPECT_EQ(client.Read(), Ok(note));
}

}  // namespace
}  // namespace weir
