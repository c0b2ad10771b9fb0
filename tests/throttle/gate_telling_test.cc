// Notification of callers that do not block: once, without the lock, and never after the admission ends.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/throttle/gate_fixture.h"

namespace weir {
namespace {

using State = Admission::State;
using GateTellingTest = GateWaitTest;
using ScanGateTellingTest = ScanGateTest;

TEST_F(GateTellingTest, OnSettledIsCalledOnceWhenTheTurnComes) {
  Exhaust();
  Admission admission = gate_.Admit({1000}, Interactive());
  int calls = 0;
  admission.OnSettled([&] { ++calls; });
  EXPECT_EQ(calls, 0);
  Run(milliseconds(10));
  EXPECT_EQ(calls, 1);
  gate_.RefuseAll("stopped");
  gate_.SetLimits({});
  EXPECT_EQ(admission.Poll(), State::kAdmitted);
  EXPECT_EQ(calls, 1);
}

TEST_F(GateTellingTest, OnSettledIsCalledAtOnceIfAlreadySettled) {
  Exhaust();
  int calls = 0;
  Admission refused = gate_.Admit({100'000}, Interactive());
  ASSERT_EQ(refused.state(), State::kWaiting);
  gate_.RefuseAll("stopped");
  refused.OnSettled([&] { ++calls; });
  EXPECT_EQ(calls, 1) << "settled, though nobody has looked yet";
  gate_.SetLimits({});
  Admission admitted = gate_.Admit({1}, Interactive());
  admitted.OnSettled([&] { ++calls; });
  EXPECT_EQ(calls, 2);
}

TEST_F(GateTellingTest, OnSettledIsNotCalledAfterDestruction) {
  Exhaust();
  int calls = 0;
  {
    Admission admission = gate_.Admit({1000}, Interactive());
    admission.OnSettled([&] { ++calls; });
  }
  Run(seconds(2));
  EXPECT_EQ(calls, 0);
}

TEST_F(GateTellingTest, ACallbackMayAskAgainAndEndItsOwnAdmission) {
  Exhaust();
  std::optional<Admission> own = gate_.Admit({1000}, Interactive());
  std::optional<Admission> next;
  own->OnSettled([&] {
    own.reset();
    next.emplace(gate_.Admit({1000}, Interactive()));
    EXPECT_EQ(gate_.Stats().waiting, 1U) << "the gate is not locked";
  });
  Run(milliseconds(1) + microseconds(1));
  ASSERT_TRUE(next.has_value());
  EXPECT_FALSE(own.has_value());
  Run(milliseconds(2));
  EXPECT_EQ(next->Poll(), State::kAdmitted);
}

// A callback may run in the thread that polls or cancels, before that call returns.
TEST_F(GateTellingTest, ACallbackThatRunsInPollMayReplaceTheAdmission) {
  Exhaust();
  Admission own = gate_.Admit({1000}, Interactive());
  own.OnSettled([&] { own = gate_.Admit({1000}, Interactive()); });
  clock_.Advance(milliseconds(1) + microseconds(1));
  EXPECT_EQ(own.Poll(), State::kAdmitted) << "that of the request that was polled";
  EXPECT_EQ(own.state(), State::kWaiting) << "that of the request which replaced it";
  EXPECT_EQ(gate_.Stats().waiting, 1U);
}

TEST_F(GateTellingTest, ACallbackThatRunsInPollMayDestroyTheAdmission) {
  Exhaust();
  auto own = std::make_unique<Admission>(gate_.Admit({1000}, Interactive()));
  own->OnSettled([&] { own.reset(); });
  clock_.Advance(milliseconds(1) + microseconds(1));
  EXPECT_EQ(own->Poll(), State::kAdmitted);
  EXPECT_EQ(own, nullptr);
}

// The cancelled request makes room for the other one.
TEST_F(GateTellingTest, AnothersCallbackMayDestroyTheAdmissionInCancel) {
  Exhaust();
  const uint64_t before = gate_.Stats().cancelled;
  auto cancelled = std::make_unique<Admission>(gate_.Admit({1000}, Interactive(1)));
  Admission other = gate_.Admit({1000}, Interactive(2));
  other.OnSettled([&] { cancelled.reset(); });
  clock_.Advance(milliseconds(1) + microseconds(1));
  EXPECT_TRUE(cancelled->Cancel());
  EXPECT_EQ(cancelled, nullptr);
  EXPECT_EQ(other.Poll(), State::kAdmitted);
  EXPECT_EQ(gate_.Stats().cancelled - before, 1U);
}

TEST_F(GateTellingTest, CancelAfterTheTurnIsTooLateAlsoWithoutACallback) {
  Exhaust();
  Admission admission = gate_.Admit({1000}, Interactive());
  gate_.SetLimits({});
  EXPECT_FALSE(admission.Cancel());
  EXPECT_TRUE(admission.admitted());
}

TEST_F(GateTellingTest, ItsOwnCallbackMayDestroyTheAdmissionInCancel) {
  Exhaust();
  auto own = std::make_unique<Admission>(gate_.Admit({1000}, Interactive()));
  own->OnSettled([&] { own.reset(); });
  gate_.SetLimits({});
  EXPECT_FALSE(own->Cancel());
  EXPECT_EQ(own, nullptr);
}

// Each ends its permit, so that the next has its turn. If they called each other, the stack would grow with the queue.
TEST_F(ScanGateTellingTest, AChainOfTurnsDoesNotGrowTheStack) {
  gate_.SetLimits(Slots(1));
  std::optional<Admission> holder = Scan();
  std::vector<std::optional<Admission>> waiting(9000);
  size_t told = 0;
  char* outermost = nullptr;
  for (std::optional<Admission>& admission : waiting) {
    admission.emplace(Scan());
    ASSERT_TRUE(admission->waiting());
    admission->OnSettled([&] {
      char here = 0;
      if (outermost == nullptr) outermost = &here;
      EXPECT_LT(std::abs(outermost - &here), 10'000);
      ++told;
      admission.reset();
    });
  }
  holder.reset();
  EXPECT_EQ(told, waiting.size());
  EXPECT_EQ(gate_.Stats().running, 0);
}

TEST_F(GateTellingTest, AThrowingCallbackIsCountedAndOthersAreStillCalled) {
  Exhaust();
  Admission first = gate_.Admit({1000}, Interactive());
  Admission second = gate_.Admit({1000}, Interactive());
  int calls = 0;
  first.OnSettled([] { throw std::runtime_error("boom"); });
  second.OnSettled([&] { ++calls; });
  testing::internal::CaptureStderr();
  Run(milliseconds(3));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("boom"), std::string::npos);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(first.Poll(), State::kAdmitted);
  EXPECT_EQ(gate_.Stats().failed_callbacks, 1U);
}

TEST_F(GateTellingTest, NewLimitsNotifyOnlyWhenTheirCallerHoldsNoLocks) {
  Exhaust();
  Admission admission = gate_.Admit({1000}, Interactive());
  int calls = 0;
  admission.OnSettled([&] { ++calls; });
  gate_.SetLimits({});
  EXPECT_EQ(calls, 0);
  gate_.TellSettled();
  EXPECT_EQ(calls, 1);
}

TEST_F(GateTellingTest, CancelNotifiesASettledWaiterAndDestructionForgetsIt) {
  Exhaust();
  int calls = 0;
  Admission cancelled = gate_.Admit({1000}, Interactive());
  cancelled.OnSettled([&] { ++calls; });
  {
    Admission destroyed = gate_.Admit({1000}, Interactive());
    destroyed.OnSettled([&] { calls += 100; });
    gate_.SetLimits({});
    EXPECT_FALSE(cancelled.Cancel());
    EXPECT_TRUE(cancelled.admitted());
    EXPECT_EQ(calls, 101) << "and with it whoever else is due";
  }
  Admission late = [&] {
    Exhaust();
    Admission admission = gate_.Admit({1000}, Interactive());
    admission.OnSettled([&] { ++calls; });
    gate_.SetLimits({});
    return admission;
  }();
  { const Admission gone = std::move(late); }
  gate_.TellSettled();
  EXPECT_EQ(calls, 101);
}

// The callback may use anything that lives as long as the admission.
TEST_F(ScanGateTellingTest, DestructionWaitsForARunningCallback) {
  gate_.SetLimits(Slots(1));
  std::optional<Admission> holder = Scan();
  std::optional<Admission> waiting = Scan();
  std::latch begun(1);
  std::atomic<bool> returned = false;
  waiting->OnSettled([&] {
    begun.count_down();
    for (int n = 0; n < 1000; ++n) std::this_thread::yield();
    returned = true;
  });
  std::jthread teller([&] { holder.reset(); });
  begun.wait();
  EXPECT_EQ(waiting->Poll(), State::kAdmitted) << "which does not wait";
  waiting.reset();
  EXPECT_TRUE(returned);
  teller.join();
  EXPECT_EQ(gate_.Stats().running, 0);
}

}  // namespace
}  // namespace weir
