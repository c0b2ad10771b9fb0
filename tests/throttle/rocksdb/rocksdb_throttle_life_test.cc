// A throttle at the end of its life and of its database's, in every order.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fixtures/eventually.h"
#include "tests/fixtures/own_process.h"
#include "tests/monitors/blocking_db.h"
#include "tests/monitors/rocksdb_fixture.h"
#include "throttle/rocksdb/rocksdb_throttle.h"

namespace weir {
namespace {

constexpr uint64_t kTarget = 512 * kMiB;
constexpr Party kBulk{.id = 1, .work_class = WorkClass::kBulk};

// A database of two families with a throttle that samples all the time.
struct Running {
  explicit Running(uint64_t memory_target_bytes = kTarget) {
    rocksdb::Options options = SmallEngine();
    prepared = PrepareRocksDb(kTarget, &options).value();
    prepared.target_bytes = memory_target_bytes;
    test.Open(options, {"other"});
    auto attached = Attach();
    EXPECT_TRUE(attached.ok()) << attached.status().message();
    throttle = std::move(attached).value();
    EXPECT_TRUE(Eventually([this] { return throttle->View().sample.time.has_value(); }));
  }
  Result<std::unique_ptr<RocksDbThrottle>> Attach() {
    return RocksDbThrottle::Attach(
        test.db(), prepared,
        {.handles = test.handles(), .monitor = {.monitor = {.sample_interval = std::chrono::milliseconds(10)}}});
  }
  // Needs memory above its target: bulk work then waits for ten seconds.
  Admission WaitingWrite() {
    EXPECT_TRUE(Eventually([this] { return throttle->View().emergency_holds; }));
    return throttle->Admit(Operation::kWrite, {1000}, kBulk);
  }
  rocksdb::DB& db() { return *test.db(); }
  rocksdb::Options OptionsNow(size_t family) { return db().GetOptions(test.handles()[family]); }
  int Slowdown(size_t family = 0) { return OptionsNow(family).level0_slowdown_writes_trigger; }

  PreparedRocksDb prepared;
  TestDb test;
  std::unique_ptr<RocksDbThrottle> throttle;
};

// Every way in which a program uses a throttle after its database is gone.
void UseAfterTheEnd(RocksDbThrottle& throttle) {
  EXPECT_TRUE(Eventually([&] { return throttle.monitor().LastError().message() == "database closed"; }));
  (void)throttle.Admit(Operation::kWrite, {100});
  (void)throttle.View();
  EXPECT_TRUE(throttle.Stop().ok());
  EXPECT_TRUE(throttle.Admit(Operation::kWrite, {100}, kBulk).admitted());
  EXPECT_FALSE(throttle.Start().ok());
  EXPECT_FALSE(throttle.AddFamily(nullptr).ok());
  EXPECT_TRUE(throttle.Detach().ok());
  EXPECT_TRUE(throttle.Detach().ok()) << "twice";
}

void DestroyHandles(TestDb& test) {
  for (auto* handle : test.TakeHandles()) EXPECT_TRUE(test.db()->DestroyColumnFamilyHandle(handle).ok());
}

TEST(ThrottleLifeDeathTest, TheDatabaseMayBeDeletedFirst) {
  ExpectReturnsInOwnProcess([] {
    Running running;
    running.test.Close();
    UseAfterTheEnd(*running.throttle);
  });
}

TEST(ThrottleLifeDeathTest, TheDatabaseMayBeClosedFirst) {
  ExpectReturnsInOwnProcess([] {
    Running running;
    DestroyHandles(running.test);
    EXPECT_TRUE(running.test.db()->Close().ok());
    UseAfterTheEnd(*running.throttle);
  });
}

TEST(ThrottleLifeDeathTest, HandlesMayBeDestroyedFirst) {
  ExpectReturnsInOwnProcess([] {
    Running running;
    DestroyHandles(running.test);
    const auto time = running.throttle->View().sample.time;
    EXPECT_TRUE(Eventually([&] { return running.throttle->View().sample.time > time; })) << "it goes on";
    EXPECT_TRUE(running.throttle->Detach().ok());
    EXPECT_EQ(running.db().GetOptions().level0_slowdown_writes_trigger, 12) << "the default family's brakes are back";
  });
}

TEST(ThrottleLifeDeathTest, TheThrottleMayBeDestroyedFirst) {
  ExpectReturnsInOwnProcess([] {
    Running running;
    running.throttle.reset();
    running.test.WriteFile();
  });
}

TEST(ThrottleLifeDeathTest, AStaticThrottleMayOutliveItsDatabase) {
  ExpectReturnsInOwnProcess([] {
    static std::unique_ptr<RocksDbThrottle> throttle;
    Running running;
    throttle = std::move(running.throttle);
  });
}

TEST(ThrottleLifeDeathTest, AForkedChildPassesItsWorkAndEnds) {
  ExpectReturnsInOwnProcess([] {
    Running running(kMiB);
    Admission waits = running.WaitingWrite();
    EXPECT_TRUE(waits.waiting());
    EXPECT_EQ(CodeOfForkedChild([&] {
                EXPECT_EQ(waits.Wait(), Admission::State::kAdmitted);
                EXPECT_TRUE(running.throttle->Admit(Operation::kWrite, {1000}, kBulk).admitted());
                EXPECT_FALSE(running.throttle->Start().ok());
                EXPECT_TRUE(running.throttle->Stop().ok());
                EXPECT_TRUE(running.throttle->Detach().ok());
                running.throttle.reset();
              }),
              0);
    EXPECT_EQ(running.Slowdown(), 28) << "the child left the parent's database alone";
    running.test.Write(1000);
  });
}

TEST(ThrottleLifeDeathTest, AForkedChildMayDestroyItWithoutStop) {
  ExpectReturnsInOwnProcess([] {
    Running running;
    EXPECT_EQ(CodeOfForkedChild([&running] { running.throttle.reset(); }), 0);
  });
}

// Many a service has a database for each tenant.
TEST(ThrottleLife, DatabasesAreAttachedAtTheSameTime) {
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([] {
      Running running;
      EXPECT_TRUE(running.throttle->Detach().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ThrottleLife, AnAttachWaitsForNoSampleOfAThrottle) {
  TestDb test;
  test.Open(SmallEngine());
  BlockingDb db(test.db());
  const auto first = RocksDbThrottle::Attach(&db, kTarget);
  ASSERT_TRUE(first.ok()) << first.status().message();
  db.Block(BlockingDb::Call::kSample);
  ASSERT_TRUE(db.AwaitBlocked());
  EXPECT_NE(RocksDbThrottle::Attach(&db, kTarget).status().message().find("has a throttle already"), std::string::npos);
  EXPECT_EQ(db.ended(), 0) << "the sample still waits";
  db.LetGo();
}

TEST(ThrottleLife, ASecondThrottleOnTheDatabaseIsAnError) {
  Running running;
  EXPECT_EQ(running.Attach().status().message(),
            "RocksDB " + running.test.path() +
                " has a throttle already: let all its clients share that one, or call its Detach first");
  ASSERT_TRUE(running.throttle->Detach().ok());
  const auto second = running.Attach();
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(running.Slowdown(), 28) << "its brakes are moved again";
}

TEST(ThrottleLife, DetachGivesTheBrakesBackAndLetsAllPass) {
  Running running(kMiB);
  const Admission waits = running.WaitingWrite();
  EXPECT_EQ(running.Slowdown(1), 28);
  ASSERT_TRUE(running.throttle->Detach().ok());
  for (size_t family : {0, 1}) {
    EXPECT_EQ(running.Slowdown(family), 12);
    EXPECT_EQ(running.OptionsNow(family).level0_stop_writes_trigger, 20);
  }
  EXPECT_EQ(Admission(running.throttle->Admit(Operation::kWrite, {1 << 30}, kBulk)).state(),
            Admission::State::kAdmitted);
  EXPECT_EQ(running.throttle->Start().message(), "database closed");
}

TEST(ThrottleLife, ADetachedOneCannotBeStartedWhateverItLimits) {
  TestDb test;
  test.Open(SmallEngine());
  RocksDbThrottleOptions options;
  options.limiter.enabled = false;
  const auto throttle = RocksDbThrottle::Attach(test.db(), kTarget, options);
  ASSERT_TRUE(throttle.ok()) << throttle.status().message();
  ASSERT_TRUE(throttle.value()->Detach().ok());
  EXPECT_EQ(throttle.value()->Start().message(), "database closed");
}

// Whichever comes last, the brakes must be back.
TEST(ThrottleLife, AStartBesideDetachMovesNoBrakes) {
  for (int round = 0; round < 20; ++round) {
    Running running;
    std::thread starts([&running] {
      while (running.throttle->Start().ok()) {
      }
    });
    EXPECT_TRUE(running.throttle->Detach().ok());
    starts.join();
    EXPECT_EQ(running.Slowdown(), 12);
    EXPECT_TRUE(running.throttle->Admit(Operation::kWrite, {1000}, kBulk).admitted());
  }
}

TEST(ThrottleLife, StopGivesTheBrakesBackAndStartMovesThem) {
  Running running(kMiB);
  Admission waits = running.WaitingWrite();
  ASSERT_TRUE(running.throttle->Stop().ok());
  EXPECT_EQ(waits.Poll(), Admission::State::kRefused);
  EXPECT_EQ(waits.reason(), "stopped");
  EXPECT_EQ(running.Slowdown(), 12);
  EXPECT_TRUE(running.throttle->Admit(Operation::kWrite, {1000}, kBulk).admitted());
  ASSERT_TRUE(running.throttle->Start().ok());
  EXPECT_EQ(running.Slowdown(), 28);
  EXPECT_TRUE(running.WaitingWrite().waiting()) << "it limits again";
}

TEST(ThrottleLife, FamiliesComeAndGoWhileItRuns) {
  Running running;
  rocksdb::ColumnFamilyHandle* tenant = nullptr;
  const rocksdb::ColumnFamilyOptions prepared = running.OptionsNow(0);
  ASSERT_TRUE(running.db().CreateColumnFamily(prepared, "tenant", &tenant).ok());
  ASSERT_TRUE(running.throttle->AddFamily(tenant).ok());
  EXPECT_FALSE(running.throttle->AddFamily(tenant).ok()) << "twice";
  ASSERT_TRUE(running.throttle->RemoveFamily(tenant).ok());
  EXPECT_EQ(running.db().GetOptions(tenant).level0_slowdown_writes_trigger, 12);
  ASSERT_TRUE(running.db().DropColumnFamily(tenant).ok());
  ASSERT_TRUE(running.db().DestroyColumnFamilyHandle(tenant).ok());
  const auto time = running.throttle->View().sample.time;
  ASSERT_TRUE(Eventually([&] { return running.throttle->View().sample.time > time; }));
  EXPECT_TRUE(running.throttle->monitor().LastError().ok());
}

TEST(ThrottleLife, MistakesAtAttachAreErrors) {
  EXPECT_NE(RocksDbThrottle::Attach(nullptr, kTarget).status().message().find("null pointer"), std::string::npos);
  TestDb test;
  test.Open(SmallEngine());
  RocksDbThrottleOptions options;
  options.monitor.monitor.sample_interval = std::chrono::milliseconds(0);
  EXPECT_EQ(RocksDbThrottle::Attach(test.db(), kTarget, options).status().message(),
            "sample_interval is 0, not within 10..10000 (ms)");
  EXPECT_TRUE(RocksDbThrottle::Attach(test.db(), kTarget).ok()) << "a failed one leaves nothing behind";
}

}  // namespace
}  // namespace weir
