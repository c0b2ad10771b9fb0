// Checks which signal acts on which work, as throttle/CONTROL.md says, and that waiting work never tightens the limit
// that it waits for.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "monitors/lsm_signals.h"
#include "monitors/memory_only_monitor.h"
#include "monitors/own_bytes.h"
#include "monitors/shared_buffers.h"
#include "tests/throttle/limiter_fixture.h"

namespace weir {
namespace {

constexpr uint64_t kMb = 1'000'000;
constexpr uint64_t kTarget = 100 * kMb;
constexpr Duration kInterval = std::chrono::milliseconds(100);
constexpr WorkClass kClasses[] = {WorkClass::kInteractive, WorkClass::kBulk};

// All signals of a sample of an embedded engine, each at `level`, of which waiting work adds `waiting`.
std::vector<Signal> AllSignals(double level = 0, double waiting = 0) {
  LsmSignals engine({}, kInterval);
  LoadSample sample;
  engine.Update(TimePoint{}, {}, &sample);
  sample.Add(SharedBuffersSignal().Update(TimePoint{}, {.limit_bytes = kTarget}, 10e6, kInterval));
  sample.Add(OwnBytes(0, kTarget).Level(kInterval));
  sample.Add(MemorySignal(0, kTarget, kInterval));
  std::vector<Signal> signals(sample.signals().begin(), sample.signals().end());
  for (Signal& signal : signals) {
    signal.level = level;
    signal.waiting = waiting;
  }
  return signals;
}

TEST(WhatActs, IsAsTheReadmeSays) {
  struct Acts {
    bool on_writes, on_scans, on_cheap_reads;
    double least_setpoint;
    bool operator==(const Acts&) const = default;
  };
  const std::map<std::string_view, Acts> expected = {
      {"memtables", {true, false, false, 0}}, {"l0", {true, false, false, 0}},   {"score", {false, false, false, 0}},
      {"debt", {true, false, false, 0}},      {"own", {true, true, true, 0.70}}, {"memory", {true, true, false, 0.70}},
      {"buffers", {true, false, false, 0}},
  };
  std::map<std::string_view, Acts> found;
  for (const Signal& s : AllSignals()) {
    const bool acts = s.acts_on_writes && s.bytes_per_level > 0;
    found[s.name] = {acts, s.acts_on_reads, s.acts_on_cheap_reads, s.least_setpoint};
  }
  EXPECT_TRUE(found == expected);
}

class WhatActsTest : public LimiterTest {
 protected:
  // Returns the limiter's view under this signal alone, after a few seconds in which all classes ask for more than
  // there is.
  LimiterView ViewOf(const Signal& signal) {
    Build();
    Say(signal);
    for (int tick = 0; tick < 30; ++tick) {
      for (const WorkClass c : kClasses) {
        (void)Write(10 * kMb, c);
        (void)Read(10 * kMb, c);
      }
      Tick();
    }
    return limiter_->View();
  }
};

// Holds for any amount of waiting work: for every signal, for both classes and for reads.
TEST_F(WhatActsTest, WaitingWorkTightensNoLimit) {
  for (const double level : {0.1, 0.6, 0.9}) {
    for (size_t i = 0; i < AllSignals().size(); ++i) {
      const LimiterView without = ViewOf(AllSignals(level)[i]);
      for (const double waiting : {0.2, 1.0, 20.0}) {
        const LimiterView with = ViewOf(AllSignals(level + waiting, waiting)[i]);
        SCOPED_TRACE(std::string(AllSignals()[i].name) + " at " + std::to_string(level));
        for (const WorkClass c : kClasses) {
          EXPECT_EQ(with[c].open, without[c].open);
          EXPECT_NEAR(with[c].bytes_per_second, without[c].bytes_per_second, 1e-3 * without[c].bytes_per_second);
        }
        EXPECT_EQ(with.scans_at_once, without.scans_at_once);
      }
    }
  }
}

// A relay's own bytes, part of which importers hold: bytes that they have read ahead and the gate does not let through
// yet.
class ImportersTest : public LimiterTest {
 protected:
  static constexpr uint64_t kBatch = 100'000;
  static constexpr uint64_t kWindow = 26 * kBatch;

  struct Importer {
    uint64_t id = 0;
    uint64_t held = 0;
    std::optional<Admission> waits = {};
  };

  // Returns how many batches this many importers pass together in ten seconds.
  uint64_t Pass(uint64_t importers, WorkClass work_class) {
    Build();
    OwnBytes own(0, kTarget);
    monitor_.Say([&own](LoadSample* sample) {
      sample->Add(Engine("l0", 0.1));
      sample->Add(own.Level(kInterval));
      AddMemory({.jemalloc_bytes = {}, .anonymous_bytes = 40 * kMb + own.bytes()}, kTarget, kInterval, sample,
                own.waiting_bytes());
      return Status();
    });
    std::vector<Importer> all(importers);
    for (Importer& importer : all) importer.id = static_cast<uint64_t>(&importer - all.data()) + 1;
    uint64_t passed = 0;
    for (int tick = 0; tick < 100; ++tick) {
      for (Importer& importer : all) passed += GoOn(importer, own, work_class);
      Tick();
    }
    for (Importer& importer : all) importer.waits.reset();
    return passed;
  }

 private:
  // Reads until the importer's window is full and asks for the batches that it holds, one after another, as far as the
  // gate admits them.
  uint64_t GoOn(Importer& importer, OwnBytes& own, WorkClass work_class) {
    uint64_t passed = 0;
    while (passed < 20) {
      own.Add(static_cast<int64_t>(kWindow - std::exchange(importer.held, kWindow)), OwnUse::kWaiting);
      if (!importer.waits)
        importer.waits = limiter_->Admit(Operation::kWrite, {kBatch}, {.id = importer.id, .work_class = work_class});
      const Admission::State state = importer.waits->Poll();
      if (state == Admission::State::kWaiting) break;
      importer.waits.reset();
      if (state == Admission::State::kRefused) break;
      importer.held -= kBatch;
      own.Add(-static_cast<int64_t>(kBatch), OwnUse::kWaiting);
      ++passed;
    }
    return passed;
  }
};

TEST_F(ImportersTest, FiveGoAsFastAsOneAlthoughTheyFillTheBudget) {
  for (const WorkClass c : kClasses) {
    const uint64_t one = Pass(1, c);
    ASSERT_GT(one, 200U) << "the engine is idle";
    EXPECT_GE(Pass(5, c), one);
  }
}

}  // namespace
}  // namespace weir
