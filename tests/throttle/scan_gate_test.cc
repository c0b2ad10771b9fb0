// Scans that the gate admits, and how their permits end.
#include "throttle/scan_gate.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <utility>

#include "tests/throttle/gate_fixture.h"

namespace weir {
namespace {

using State = Admission::State;

TEST_F(ScanGateTest, CancelComesTooLateForATurnThatHasCome) {
  gate_.SetLimits(Slots(1));
  std::optional<Admission> holder = Scan();
  Admission admission = Scan();
  holder.reset();
  EXPECT_FALSE(admission.Cancel());
  EXPECT_TRUE(admission.admitted());
  EXPECT_EQ(gate_.Stats().running, 1);
}

TEST_F(ScanGateTest, AMovedFromAdmissionOwesNothing) {
  gate_.SetLimits(Slots(1));
  Admission holder = Scan();
  Admission waiter = Scan();
  {
    Admission to = std::move(waiter);
    waiter.Poll();  // NOLINT(bugprone-use-after-move): that it does nothing is the point
    waiter.Wait();
    EXPECT_EQ(gate_.Stats().waiting, 1U);
  }
  EXPECT_EQ(gate_.Stats().waiting, 0U);
  { Admission permit = std::move(holder); }
  EXPECT_EQ(gate_.Stats().running, 0);
  holder = Scan();
  EXPECT_TRUE(holder.admitted());
  EXPECT_EQ(gate_.Stats().running, 1);
}

TEST_F(ScanGateTest, MovingIntoItselfChangesNothing) {
  gate_.SetLimits(Slots(1));
  Admission holder = Scan();
  Admission& same = holder;
  holder = std::move(same);
  EXPECT_TRUE(holder.admitted());
  EXPECT_EQ(gate_.Stats().running, 1);
}

TEST_F(ScanGateTest, AssigningOverAnAdmissionEndsIt) {
  gate_.SetLimits(Slots(1));
  Admission holder = Scan();
  Admission waiter = Scan(Interactive(3));
  holder = gate_.Admit({10}, Interactive());
  EXPECT_EQ(waiter.Poll(), State::kAdmitted) << "the slot went on";
  waiter = gate_.Admit({10}, Interactive());
  EXPECT_EQ(gate_.Stats().running, 0);
}

TEST_F(ScanGateTest, AScansPermitEndsWithTheObject) {
  gate_.SetLimits(Slots(2));
  std::optional<Admission> a = Scan();
  std::optional<Admission> b = Scan(Bulk());
  Admission c = Scan();
  EXPECT_TRUE(a->admitted() && b->admitted() && c.waiting());
  EXPECT_EQ(gate_.Stats().running, 2);
  a.reset();
  EXPECT_EQ(c.Poll(), State::kAdmitted);
  EXPECT_EQ(gate_.Stats().running, 2);
}

TEST_F(ScanGateTest, AFreeSlotGoesToInteractiveFirst) {
  gate_.SetLimits(Slots(1));
  std::optional<Admission> holder = Scan(Bulk());
  Admission bulk = Scan(Bulk());
  Admission interactive = Scan();
  holder.reset();
  EXPECT_EQ(interactive.Poll(), State::kAdmitted);
  EXPECT_EQ(bulk.Poll(), State::kWaiting);
}

// Bulk would starve otherwise: the interactive scans that wait may never be fewer than the scans that may run.
TEST_F(ScanGateTest, EveryEighthPermitIsForABulkScanThatWaits) {
  for (const int64_t bulk_at_once : {ScanLimits::kAnyNumber, int64_t{1}}) {
    for (const int64_t at_once : {1, 3}) {
      ScanLimits limits = Slots(at_once);
      limits.bulk_at_once = bulk_at_once;
      gate_.SetLimits(limits);
      std::deque<Admission> running;
      std::deque<Admission> waiting;
      for (int64_t n = 0; n < at_once; ++n) running.push_back(Scan());
      Admission bulk = Scan(Bulk());
      int bulk_scans = 0;
      for (int n = 0; n < 80; ++n) {
        waiting.push_back(Scan());
        running.pop_front();
        gate_.Pump();
        ASSERT_EQ(gate_.Stats().running, at_once) << "no permit lies idle";
        if (bulk.Poll() == State::kAdmitted) {
          ++bulk_scans;
          running.push_back(std::move(bulk));
          bulk = Scan(Bulk());
        } else {
          ASSERT_EQ(waiting.front().Poll(), State::kAdmitted);
          running.push_back(std::move(waiting.front()));
          waiting.pop_front();
        }
      }
      EXPECT_EQ(bulk_scans, 10);
    }
  }
}

TEST_F(ScanGateTest, CheapReadsPassWhileScansWait) {
  gate_.SetLimits(Slots(1));
  const Admission holder = Scan();
  const Admission scan = Scan();
  ASSERT_TRUE(scan.waiting());
  EXPECT_EQ(AdmittedNow(Interactive(), 999, 1000), 1000);
}

TEST_F(ScanGateTest, CheapReadsPassAsSoonAsOnlyScansAreLimited) {
  ScanLimits all_reads = Slots(1);
  all_reads.scan_bytes = 0;
  gate_.SetLimits(all_reads);
  const Admission holder = Scan();
  Admission scan = Scan();
  Admission behind_it = CheapRead();
  Admission of_another = CheapRead(Interactive(7));
  Admission bulk = CheapRead(Bulk());
  gate_.SetLimits(Slots(1));
  EXPECT_EQ(behind_it.Poll(), State::kAdmitted);
  EXPECT_EQ(of_another.Poll(), State::kAdmitted);
  EXPECT_EQ(bulk.Poll(), State::kAdmitted);
  EXPECT_EQ(scan.Poll(), State::kWaiting);
  EXPECT_EQ(gate_.Stats().running, 1) << "cheap reads hold no permit";
}

TEST_F(ScanGateTest, AScanThatWaitsForASlotPromisesNoTurn) {
  gate_.SetLimits(Slots(1));
  const Admission holder = Scan();
  const Admission scan = Scan();
  EXPECT_EQ(scan.wait_until(), clock_.Now() + seconds(1)) << "nobody can tell when the slot is free";
  EXPECT_EQ(gate_.Pump(), clock_.Now() + seconds(1));
}

TEST_F(ScanGateTest, AScanThatFindsNoSlotIsRefusedWithATimeToComeBack) {
  gate_.SetLimits(Slots(1));
  const Admission holder = Scan();
  Admission scan = Scan();
  Run(seconds(1));
  ASSERT_EQ(scan.Poll(), State::kRefused);
  EXPECT_GT(scan.retry_after(), Duration::zero());
}

TEST_F(ScanGateTest, APermitSurvivesOpeningAndNewLimits) {
  gate_.SetLimits(Slots(1));
  std::optional<Admission> holder = Scan();
  gate_.SetLimits({});
  gate_.SetLimits(Slots(1));
  EXPECT_TRUE(Scan().waiting());
  holder.reset();
  EXPECT_EQ(gate_.Stats().running, 0);
  EXPECT_TRUE(Scan().admitted());
}

// The limits of an emergency: no interactive scan may begin.
ScanLimits Refusing(int64_t at_once) {
  ScanLimits limits = Slots(at_once);
  limits[WorkClass::kInteractive].refuse = true;
  limits[WorkClass::kInteractive].reason = "emergency";
  return limits;
}

TEST_F(ScanGateTest, RefusesScansAtOnceAndAdmitsCheapReadsAsEver) {
  gate_.SetLimits(Refusing(4));
  const Admission scan = Scan();
  ASSERT_TRUE(scan.refused());
  EXPECT_EQ(scan.reason(), "emergency");
  EXPECT_GT(scan.retry_after(), Duration::zero());
  EXPECT_TRUE(CheapRead().admitted());
}

TEST_F(ScanGateTest, RefusesScansThatWaitAlready) {
  gate_.SetLimits(Slots(1));
  std::optional<Admission> holder = Scan();
  Admission scan = Scan();
  Admission bulk_scan = Scan(Bulk());
  gate_.SetLimits(Refusing(1));
  ASSERT_EQ(scan.Poll(), State::kRefused);
  EXPECT_EQ(scan.reason(), "emergency");
  EXPECT_GT(scan.retry_after(), Duration::zero());
  EXPECT_EQ(bulk_scan.Poll(), State::kWaiting);
  holder.reset();
  EXPECT_EQ(bulk_scan.Poll(), State::kAdmitted);
}

// An open gate that admits one bulk scan at a time.
ScanLimits OneBulkScan() {
  ScanLimits limits = Slots(4);
  limits.open = true;
  limits.bulk_at_once = 1;
  limits[WorkClass::kBulk].reason = "cores";
  return limits;
}

TEST_F(ScanGateTest, BulkScansAreFewWhileItIsOpenToo) {
  gate_.SetLimits(OneBulkScan());
  EXPECT_FALSE(gate_.PassOpen({5000}, WorkClass::kBulk));
  std::optional<Admission> one = Scan(Bulk());
  Admission two = Scan(Bulk());
  ASSERT_TRUE(one->admitted() && two.waiting());
  EXPECT_EQ(two.reason(), "cores");
  one.reset();
  EXPECT_EQ(two.Poll(), State::kAdmitted);
}

TEST_F(ScanGateTest, CheapBulkReadsAndInteractiveScansPassBesideBulkScans) {
  gate_.SetLimits(OneBulkScan());
  const Admission bulk = Scan(Bulk());
  EXPECT_TRUE(gate_.PassOpen({999}, WorkClass::kBulk));
  EXPECT_TRUE(gate_.PassOpen({5000}, WorkClass::kInteractive));
  EXPECT_EQ(AdmittedNow(Interactive(), 5000, 100), 100);
  EXPECT_EQ(gate_.Stats().running, 1) << "the others have no permit to give back";
}

TEST_F(ScanGateTest, UnderPressureTheLowerNumberHoldsForBulkScans) {
  ScanLimits limits = OneBulkScan();
  limits.open = false;
  gate_.SetLimits(limits);
  const Admission interactive = Scan();
  EXPECT_TRUE(Scan(Bulk()).waiting()) << "a scan runs";
  limits.bulk_at_once = 8;
  limits.at_once = 1;
  gate_.SetLimits(limits);
  EXPECT_TRUE(Scan(Bulk()).waiting());
}

TEST_F(ScanGateTest, BulkScansWaitNoLongerWhenTheRuleIsGone) {
  gate_.SetLimits(OneBulkScan());
  const Admission one = Scan(Bulk());
  Admission two = Scan(Bulk());
  ASSERT_TRUE(two.waiting());
  gate_.SetLimits({});
  EXPECT_EQ(two.Poll(), State::kAdmitted);
  EXPECT_TRUE(gate_.PassOpen({5000}, WorkClass::kBulk));
}

}  // namespace
}  // namespace weir
