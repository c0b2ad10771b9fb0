// The primary is killed while clients publish, and a standby takes its place: nothing acknowledged is missing. The time
// in which no client could publish is printed, and is no condition.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "relay/nostr/signature.h"
#include "relay/relay.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/postgres_process.h"
#include "tests/fixtures/temp_directory.h"
#include "tests/fixtures/web_client.h"

namespace weir {
namespace {

constexpr size_t kPublishers = 4;
constexpr size_t kEventsBefore = 400;  // acknowledged, over all publishers
constexpr size_t kEventsAfter = 200;

class FailoverTest : public testing::Test {
 protected:
  FailoverTest() {
    EXPECT_TRUE(Eventually([&] { return primary_.Ask("SELECT count(*) FROM pg_stat_replication") == "2"; }));
    primary_.AwaitStandbys("ANY 1 (*)");
  }

  RelayConfiguration Configuration(const std::string& origin) {
    RelayConfiguration configuration;
    configuration.data_dir = directory_ / origin;
    configuration.server.port = 0;
    configuration.storage.memory.target_memory_mb = 4096;
    configuration.storage.store =
        "postgres://weir@" + Host(primary_) + "," + Host(first_) + "," + Host(second_) + "/postgres";
    configuration.storage.postgres.origin = origin;
    return configuration;
  }
  static std::string Host(const PostgresProcess& server) { return "127.0.0.1:" + std::to_string(server.port()); }

  // Publishes one event after another, until it is told to stop. After an error it goes on with the next event.
  void Publish(uint16_t port, size_t publisher) {
    WebClient client(port);
    const Signer signer(100 + publisher);
    const uint64_t now = WallClock::System().NowSeconds();
    for (uint64_t number = 0; !stop_; ++number) {
      const std::string event = signer.SignedEvent(now, 1, "[]", std::to_string(number));
      client.Send("[\"EVENT\"," + event + "]");
      const std::string answer = client.ReadUntil("[\"OK\"").back();
      if (answer.find(",true,") == std::string::npos) continue;
      const std::lock_guard lock(mutex_);
      acknowledged_.push_back(answer.substr(7, 64));
    }
  }
  size_t Acknowledged() {
    const std::lock_guard lock(mutex_);
    return acknowledged_.size();
  }

  const TempDirectory directory_;
  PostgresProcess primary_;
  PostgresProcess first_{{}, &primary_};
  PostgresProcess second_{{}, &primary_};
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::vector<std::string> acknowledged_;
};

TEST_F(FailoverTest, NoAcknowledgedEventIsLostWhenAStandbyTakesOver) {
  std::vector<std::unique_ptr<Relay>> relays;
  for (const char* const origin : {"one", "two"}) {
    auto opened = Relay::Open(Configuration(origin));
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    relays.push_back(std::move(opened).value());
    relays.back()->Accept();
  }
  std::vector<std::thread> publishers;
  for (size_t i = 0; i < kPublishers; ++i)
    publishers.emplace_back([&, i] { Publish(relays[i % relays.size()]->port(), i); });
  EXPECT_TRUE(Eventually([&] { return Acknowledged() >= kEventsBefore; }));

  const auto killed = std::chrono::steady_clock::now();
  primary_.Kill();
  // The standby that has more of the log has all that was acknowledged.
  const bool first_is_ahead = first_.Ask("SELECT pg_last_wal_receive_lsn() >= '" +
                                         second_.Ask("SELECT pg_last_wal_receive_lsn()") + "'") == "t";
  PostgresProcess& promoted = first_is_ahead ? first_ : second_;
  PostgresProcess& follower = first_is_ahead ? second_ : first_;
  promoted.Ask("SELECT pg_promote()");
  follower.Ask("ALTER SYSTEM SET primary_conninfo = 'host=127.0.0.1 port=" + std::to_string(promoted.port()) +
               " user=weir'");
  follower.Ask("SELECT pg_reload_conf()");
  const size_t before = Acknowledged();
  EXPECT_TRUE(Eventually([&] { return Acknowledged() > before; }));
  const std::chrono::duration<double> gap = std::chrono::steady_clock::now() - killed;
  EXPECT_TRUE(Eventually([&] { return Acknowledged() >= before + kEventsAfter; }));
  stop_ = true;
  for (std::thread& publisher : publishers) publisher.join();

  size_t missing = 0;
  PostgresClient database(promoted.conninfo());
  for (const std::string& id : acknowledged_)
    missing += database.Ask("SELECT count(*) FROM weir_events WHERE id = '\\x" + id + "'") == "1" ? 0 : 1;
  EXPECT_EQ(missing, 0U);
  std::printf("%zu acknowledged, %zu before the kill; %zu lost; nobody could publish for %.1f s\n",
              acknowledged_.size(), before, missing, gap.count());
}

}  // namespace
}  // namespace weir
