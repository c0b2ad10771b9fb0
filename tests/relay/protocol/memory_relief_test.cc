#include "relay/protocol/memory_relief.h"

#include <new>

#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

class MemoryReliefTest : public ClientTest {
 protected:
  MemoryReliefTest() {
    Build();
    relief_.emplace(*limiter_, *ledger_, *budget_);
  }
  std::optional<MemoryRelief> relief_;
};

// 80 connections that held 2 GiB once made the relay refuse all others.
TEST_F(MemoryReliefTest, AsksTheHeaviestClientUntilTheEmergencyIsOver) {
  Seat& heavy = Connect("192.0.2.1");
  Seat& light = Connect("192.0.2.2");
  const HeldBytes much(heavy->account(), 5 << 20);
  const HeldBytes less(light->account(), 4 << 20);
  Engine(0.1);
  relief_->OnBeat();
  EXPECT_EQ(heavy->times_asked_to_give_up, 0) << "memory is not short";
  Engine(0.1, 1.5);
  relief_->OnBeat();
  relief_->OnBeat();
  EXPECT_EQ(heavy->times_asked_to_give_up, 2);
  EXPECT_EQ(light->times_asked_to_give_up, 0);
  Engine(0.1, 0.1);
  relief_->OnBeat();
  EXPECT_EQ(heavy->times_asked_to_give_up, 2);
}

// Memory that swings about the mark is reported once in ten minutes.
TEST_F(MemoryReliefTest, TellsWhenAnEmergencyBegins) {
  std::vector<uint64_t> told;
  relief_.emplace(
      *limiter_, *ledger_, *budget_, [&told](uint64_t emergencies) { told.push_back(emergencies); }, clock_);
  const auto swing = [this] {
    for (const double memory : {1.5, 0.1}) {
      Engine(0.1, memory);
      relief_->OnBeat();
      relief_->OnBeat();
    }
  };
  relief_->OnBeat();
  EXPECT_EQ(told, std::vector<uint64_t>());
  swing();
  EXPECT_EQ(told, std::vector<uint64_t>{1});
  swing();
  swing();
  EXPECT_EQ(told, std::vector<uint64_t>{1});
  clock_.Advance(MemoryRelief::kQuiet);
  swing();
  EXPECT_EQ(told, (std::vector<uint64_t>{1, 3}));
}

TEST_F(MemoryReliefTest, PassesOnGrantsThatCouldNotBePassedOn) {
  bool fails = true;
  size_t granted = 0;
  ASSERT_TRUE(budget_->Take(1, budget_->bytes(), {}));
  ASSERT_FALSE(budget_->Take(2, 1, [&] {
    if (fails) throw std::bad_alloc();
    ++granted;
  }));
  budget_->GiveBack(budget_->bytes());
  fails = false;
  relief_->OnBeat();
  EXPECT_EQ(granted, 1U);
  budget_->GiveBack(1);
}

TEST_F(MemoryReliefTest, AsksNoClientIfAllHoldLittle) {
  Seat& client = Connect();
  const HeldBytes little(client->account(), 1000);
  Engine(0.1, 1.5);
  relief_->OnBeat();
  EXPECT_EQ(client->times_asked_to_give_up, 0);
}

}  // namespace
}  // namespace weir
