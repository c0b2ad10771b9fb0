// Processes that are killed while they save. WEIR_TORTURE_ROUNDS=1000 for a long run.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "relay/store/store_check.h"
#include "tests/relay/store/index_oracle.h"
#include "tests/relay/store/rounds.h"
#include "tests/relay/store/saving_child.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

int Rounds() { return static_cast<int>(RoundsBy("WEIR_TORTURE_ROUNDS", 5)); }

void ExpectWhole(const std::string& path, const Expectation& expected) {
  const auto store = MustOpen(SmallStore(path));
  ASSERT_NE(store, nullptr);
  ASSERT_EQ(IndexDifference(*store), "") << "between two pieces";
  for (bool more = true; more;) {
    const Result<OwedPiece> piece = store->RemoveVanished(kTurnWork);
    ASSERT_TRUE(piece.ok()) << piece.status().message();
    more = piece.value().more;
  }
  for (const std::string& id : expected.present())
    ASSERT_TRUE(store->Has(ToBytes(id)).value()) << id << " was acknowledged and is gone";
  for (const std::string& id : expected.absent())
    ASSERT_FALSE(store->Has(ToBytes(id)).value()) << id << " was removed and is back";
  const Result<CheckReport> report = CheckStore(*store);
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_TRUE(report.value().clean()) << ToText(report.value());
}

void Torture(const std::string& role) {
  const TempDirectory directory;
  const std::string path = directory / "events";
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  Expectation expected;
  for (int round = 0; round < Rounds(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    ChildProcess child({}, AsChild(role, path));
    // Kills it in the middle of its work or, but for the first round, now and then while it is still opening.
    if (round == 0 || random() % 8 != 0) {
      const uint64_t enough = expected.acknowledged() + 1 + random() % 3000;
      std::string line;
      while (expected.acknowledged() < enough && child.ReadLine(&line)) expected.Hear(line);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5000));
    child.Kill();
    expected.HearAll(child);
    ASSERT_EQ(child.Wait(), -SIGKILL);
    ExpectWhole(path, expected);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(expected.acknowledged(), 0U);
}

TEST(StoreTorture, AcknowledgedEventsSurviveAKill) { Torture("save"); }

// Most kills are amid a deletion, amid what follows a request to vanish, or amid a removal by ids.
TEST(StoreTorture, ARemovalIsWholeAfterAKillAndGoesOn) { Torture("remove"); }

}  // namespace
}  // namespace weir
