// Turns a server's row into signals, without a server.
#include "monitors/postgres/postgres_signals.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "throttle/rate_law.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// The fields are in the order of the query.
struct Server {
  int64_t wal = 16 << 20;
  int64_t max_wal = 64 << 20;
  int64_t standbys = 1;
  int64_t lag = 32 << 20;
  int64_t unseen = 0;
  int64_t lock_waits = 0;
  int64_t standby_waits = 0;

  PostgresSession::Row Row() const {
    PostgresSession::Row row;
    for (const int64_t figure : {wal, max_wal, standbys, lag, unseen, lock_waits, standby_waits, int64_t{0}})
      row.emplace_back(std::to_string(figure));
    row.emplace_back("7");
    row.emplace_back("0");
    return row;
  }
  LoadSample Sample() const {
    PostgresDetails details;
    EXPECT_EQ(ReadFigures(Row(), &details).message(), "");
    LoadSample sample;
    AddPostgresSignals(details, {}, &sample);
    return sample;
  }
};

TEST(PostgresSignalsTest, AreLevelsWithAGeometry) {
  const LoadSample sample = Server{.lock_waits = 3, .standby_waits = 5}.Sample();
  EXPECT_DOUBLE_EQ(sample.Find("wal")->level, 16.0 / 64 / 1.6);
  EXPECT_DOUBLE_EQ(sample.Find("wal")->bytes_per_level, 1.6 * 64 * kMiB / 2) << "two bytes of the log for each";
  EXPECT_DOUBLE_EQ(sample.Find("replica")->level, 0.5);
  EXPECT_DOUBLE_EQ(sample.Find("replica")->bytes_per_level, 64.0 * kMiB / 2);
  EXPECT_GT(sample.Find("standby")->bytes_per_level, 0);
  EXPECT_EQ(sample.Find("waiting")->level, 0.5);
  EXPECT_EQ(sample.Find("waiting")->bytes_per_level, 0) << "shown, does not act";
}

TEST(PostgresSignalsTest, AMaxWalSizeThatIsLoweredRaisesTheLevel) {
  const LoadSample sample = Server{.max_wal = 32 << 20}.Sample();
  EXPECT_DOUBLE_EQ(sample.Find("wal")->level, 16.0 / 32 / 1.6);
  EXPECT_DOUBLE_EQ(sample.Find("wal")->bytes_per_level, 1.6 * 32 * kMiB / 2);
}

// A standby that disappears takes 32 MiB of lag with it.
TEST(PostgresSignalsTest, AStandbyThatVanishesIsNoDrain) {
  const auto settled = [](const Server& server) {
    LoadSample sample = server.Sample();
    sample.time = TimePoint(seconds(1));
    return sample;
  };
  RateLaw law({}, ProcessVariable::kBottleneck, milliseconds(100));
  const Demand demand{.inflow_bytes_per_second = 1e6, .bytes_per_second = 1e6, .waited = true};
  const auto run = [&](const Server& server) {
    RateDecision decision;
    for (int tick = 0; tick < 100; ++tick) decision = law.Update(settled(server), demand, milliseconds(100));
    return decision;
  };
  const Server lagging{.wal = 0, .lag = 60 << 20};
  EXPECT_NEAR(run(lagging).drain_bytes_per_second, 1e6, 1e5);
  EXPECT_EQ(settled({.standbys = 0, .lag = 0}).Find("replica"), nullptr);
  EXPECT_NE(run({.wal = 0, .standbys = 0, .lag = 0}).reason, "replica");
  EXPECT_NEAR(law.Update(settled(lagging), demand, milliseconds(100)).drain_bytes_per_second, 1e6, 1e5) << "nor is";
}

TEST(PostgresSignalsTest, AcceptsOptionalNullsAndRefusesUnreadableFigures) {
  PostgresDetails details;
  PostgresSession::Row row = Server().Row();
  row[3].reset();  // the lag is null without a standby
  row[7].reset();
  EXPECT_TRUE(ReadFigures(row, &details).ok());
  EXPECT_EQ(details.replica_lag_bytes, 0U);
  EXPECT_EQ(details.requested_checkpoints, 7U);
  const std::string unread = "PostgreSQL: its figures cannot be read";
  row[1].reset();
  EXPECT_EQ(ReadFigures(row, &details).message(), unread) << "against what?";
  row = Server().Row();
  row[0] = "many";
  EXPECT_EQ(ReadFigures(row, &details).message(), unread);
  row.pop_back();
  EXPECT_EQ(ReadFigures(row, &details).message(), unread);
  EXPECT_EQ(ReadFigures({}, &details).message(), unread);
  row = Server{.wal = -5}.Row();
  EXPECT_TRUE(ReadFigures(row, &details).ok()) << "a checkpoint came between the two";
  EXPECT_EQ(details.wal_bytes, 0U);
}

TEST(PostgresSignalsTest, TheLevelOfAWaitingCommitIsThreeAtMost) {
  PostgresDetails details;
  for (const auto& [wait, level] : {std::pair(seconds(2), 2.0), std::pair(seconds(3600), 3.0)}) {
    details.standby_wait = wait;
    LoadSample sample;
    AddPostgresSignals(details, {}, &sample);
    EXPECT_DOUBLE_EQ(sample.Find("standby")->level, level);
  }
}

TEST(PostgresSignalsTest, StandbysThatMayNotBeSeenAreMissingRights) {
  PostgresDetails details;
  EXPECT_EQ(ReadFigures(Server{.standbys = 0, .unseen = 1}.Row(), &details).message(),
            "PostgreSQL: the role may not see the standbys; GRANT pg_monitor TO it");
}

TEST(StandbyWaitTest, IsForHowLongTheOldestHasBeenTheSame) {
  StandbyWait wait;
  const TimePoint start{seconds(100)};
  EXPECT_EQ(wait.Note(0, start), Duration{});
  EXPECT_EQ(wait.Note(5, start + seconds(1)), Duration{}) << "its statement may have run for an hour";
  EXPECT_EQ(wait.Note(5, start + seconds(3)), seconds(2));
  EXPECT_EQ(wait.Note(6, start + seconds(4)), Duration{}) << "the oldest got its answer";
  EXPECT_EQ(wait.Note(0, start + seconds(5)), Duration{});
  EXPECT_EQ(wait.Note(6, start + seconds(6)), Duration{});
}

}  // namespace
}  // namespace weir
