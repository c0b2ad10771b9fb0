#include "relay/store/postgres/session_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>
#include <vector>

#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/store/postgres/postgres_fixture.h"

namespace weir {
namespace {

constexpr Duration kPatience = std::chrono::seconds(60);
constexpr PostgresStatement kGood{"good", "SELECT 1"};
constexpr PostgresStatement kOther{"other", "SELECT 2"};
constexpr PostgresStatement kBad{"bad", "SELECT 1 / 0"};

// Returns true if the answer is 1.
Result<bool> Read(SessionPool& pool, const PostgresStatement& statement = kGood) {
  return pool.With<bool>([&](PostgresSession& session) -> Result<bool> {
    session.Queue(statement);
    const Result<std::vector<PostgresRows>> answers = session.Run(kPatience);
    if (!answers.ok()) return answers.status();
    return answers.value()[0].Int(0, 0) == 1;
  });
}

void TakeAtOnce(SessionPool& pool, int sessions) {
  std::vector<SessionPool::Lease> leases;
  for (int i = 0; i < sessions; ++i) {
    Result<SessionPool::Lease> lease = pool.Take();
    ASSERT_TRUE(lease.ok()) << lease.status().message();
    leases.push_back(std::move(lease).value());
  }
}

class SessionPoolTest : public testing::Test {
 protected:
  // Makes a role that may have `connections` at a time, and returns its address.
  std::string OfRole(int connections) const {
    const std::string role = database_.Ask("SELECT 'of_' || current_database()");
    database_.Ask("CREATE ROLE " + role + " LOGIN CONNECTION LIMIT " + std::to_string(connections));
    return database_.conninfo() + " user=" + role;
  }
  void TearDown() override { database_.Ask("DROP ROLE IF EXISTS of_" + database_.Ask("SELECT current_database()")); }

  PostgresDatabase database_;
};

TEST_F(SessionPoolTest, CallersHaveTheirTurnsInOrder) {
  SessionPool pool(database_.conninfo(), {.least = 1, .most = 1}, kPatience);
  std::vector<int> order;
  std::vector<std::thread> callers;
  {
    const Result<SessionPool::Lease> first = pool.Take();
    ASSERT_TRUE(first.ok()) << first.status().message();
    for (int i = 0; i < 5; ++i) {
      callers.emplace_back([&, i] {
        const Result<SessionPool::Lease> lease = pool.Take();
        EXPECT_TRUE(lease.ok());
        order.push_back(i);  // the only session guards it
      });
      ASSERT_TRUE(Eventually([&] { return pool.Stats().waiting == static_cast<size_t>(i) + 1; }));
    }
    EXPECT_EQ(pool.Stats().used, 1U);
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
  EXPECT_EQ(pool.Stats().waits, 5U);
  EXPECT_EQ(pool.Stats().open, 1U);
  EXPECT_GT(pool.Stats().waited.count(), 0);
}

TEST_F(SessionPoolTest, WithoutATurnInTimeAReadFails) {
  SessionPool pool(database_.conninfo(), {.least = 1, .most = 1}, std::chrono::seconds(1));
  ASSERT_TRUE(Eventually([&] { return pool.Take().ok(); }));  // the server may be slow to connect
  const Result<SessionPool::Lease> first = pool.Take();
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(pool.Take().status().message(), "PostgreSQL: all connections are in use");
  EXPECT_EQ(pool.Stats().waiting, 0U);
  EXPECT_EQ(pool.Stats().used, 1U);
}

// All sessions hang in long statements, and a caller that comes gets a further one.
TEST_F(SessionPoolTest, GrowsWhileReadsHang) {
  SessionPool pool(database_.conninfo(), {.least = 2, .most = 8}, kPatience);
  const Result<SessionPool::Lease> first = pool.Take();
  const Result<SessionPool::Lease> second = pool.Take();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(pool.Stats().allowed, 2U);
  EXPECT_TRUE(pool.Take().ok());
}

TEST_F(SessionPoolTest, UsesWhatTheServerGives) {
  SessionPool pool(OfRole(2), {.least = 5, .most = 5}, kPatience);
  std::atomic<int> taken = 0;
  std::vector<std::thread> callers;
  {
    const Result<SessionPool::Lease> first = pool.Take();
    const Result<SessionPool::Lease> second = pool.Take();
    ASSERT_TRUE(first.ok() && second.ok());
    for (int i = 0; i < 3; ++i)
      callers.emplace_back([&] {
        const Result<SessionPool::Lease> lease = pool.Take();
        EXPECT_TRUE(lease.ok()) << lease.status().message();
        ++taken;
      });
    EXPECT_TRUE(Eventually([&] { return pool.Stats().waiting == 3 && pool.Stats().refused > 0; }));
    EXPECT_EQ(taken, 0);
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(taken, 3);
}

TEST_F(SessionPoolTest, AServerThatHasEndedAllConnectionsCostsNoRead) {
  SessionPool pool(database_.conninfo(), {.least = 4, .most = 4}, kPatience);
  TakeAtOnce(pool, 4);
  database_.Ask(
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
      "pg_backend_pid()");
  const Result<bool> read = Read(pool);
  EXPECT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(pool.Stats().open, 1U);
}

TEST_F(SessionPoolTest, AnExceptionLeavesNoAnswersToTheNextRead) {
  SessionPool pool(database_.conninfo(), {.least = 1, .most = 1}, kPatience);
  EXPECT_THROW((void)pool.With<bool>([](PostgresSession& session) -> Result<bool> {
    session.Queue(kOther);
    throw std::bad_alloc();
  }),
               std::bad_alloc);
  const Result<bool> read = Read(pool);
  EXPECT_TRUE(read.ok() && read.value());
}

TEST_F(SessionPoolTest, IsUnhealthyWhenReadsFailInARow) {
  SessionPool pool(database_.conninfo(), {.least = 1, .most = 1}, kPatience);
  EXPECT_FALSE(Read(pool, kBad).ok());
  EXPECT_FALSE(Read(pool, kBad).ok());
  EXPECT_TRUE(pool.Health().ok()) << "a question may be wrong";
  EXPECT_FALSE(Read(pool, kBad).ok());
  EXPECT_FALSE(pool.Health(Clock::System().Now() - std::chrono::seconds(1)).ok());
  EXPECT_TRUE(Read(pool).ok());
  EXPECT_TRUE(pool.Health().ok());
}

TEST_F(SessionPoolTest, ACallerThatIsRefusedAloneIsTold) {
  SessionPool pool(OfRole(0), {.least = 5, .most = 5}, kPatience);
  const Result<SessionPool::Lease> lease = pool.Take();
  ASSERT_FALSE(lease.ok());
  EXPECT_TRUE(Has(lease.status().message(), "too many connections for role")) << lease.status().message();
  EXPECT_FALSE(Has(lease.status().message(), "LOCATION")) << lease.status().message();
  EXPECT_EQ(pool.Stats().used, 0U);
}

TEST_F(SessionPoolTest, GivesConnectionsBackThatAreNotNeeded) {
  SessionPool pool(database_.conninfo(), {.least = 2, .most = 4}, kPatience);
  TakeAtOnce(pool, 4);
  const TimePoint now = Clock::System().Now();
  pool.CloseIdle(now);
  EXPECT_EQ(pool.Stats().open, 4U);
  pool.CloseIdle(now + 2 * SessionPool::kIdle);
  EXPECT_EQ(pool.Stats().open, 2U);
  EXPECT_TRUE(Eventually([&] {
    return database_.Ask(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
               "pg_backend_pid()") == "2";
  }));
  EXPECT_TRUE(pool.Take().ok());
}

// An error of the server is no read: a database that refuses everything at once must not look fast.
TEST_F(SessionPoolTest, CountsReadsAndFailures) {
  SessionPool pool(database_.conninfo(), {.least = 1, .most = 1}, kPatience);
  EXPECT_TRUE(Read(pool).ok());
  EXPECT_FALSE(Read(pool, kBad).ok());
  EXPECT_TRUE(Read(pool).ok());
  EXPECT_EQ(pool.Stats().reads, 2U);
  EXPECT_EQ(pool.Stats().failed, 1U);
}

}  // namespace
}  // namespace weir
