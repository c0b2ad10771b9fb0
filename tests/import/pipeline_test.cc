#include "import/pipeline.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "import/input/line_splitter.h"
#include "tests/fixtures/eventually.h"
#include "tests/import/settlements.h"
#include "tests/import/signed_events.h"
#include "tests/relay/observe/trace/span_fixture.h"
#include "tests/throttle/scripted_monitor.h"

namespace weir {
namespace {

// A Save that does as it is told: fails, or hangs.
class ScriptedSave {
 public:
  auto Callback() {
    return [this](std::span<const Event> events, std::span<SaveResult> results) {
      std::unique_lock lock(mutex_);
      ++calls_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return !hold_; });
      if (on_call_) on_call_();
      if (failures_ > 0) {
        --failures_;
        for (size_t i = 0; i < std::min(settled_before_failure_, events.size()); ++i) {
          saved_.push_back(std::string(events[i].view().json()));
          results[i] = {.outcome = SaveOutcome::kSuperseded, .settled = true};
        }
        return Status::Error(error_);
      }
      for (const Event& event : events) saved_.push_back(std::string(event.view().json()));
      largest_ = std::max(largest_, events.size());
      return Status();
    };
  }
  void Fail(int times, std::string error, std::function<void()> on_call = {}) {
    const std::lock_guard lock(mutex_);
    failures_ = times;
    error_ = std::move(error);
    on_call_ = std::move(on_call);
  }
  // Each failure comes after this many events were settled.
  void SettleBeforeFailure(size_t events) {
    const std::lock_guard lock(mutex_);
    settled_before_failure_ = events;
  }
  void Hold(bool hold) {
    const std::lock_guard lock(mutex_);
    hold_ = hold;
    changed_.notify_all();
  }
  void WaitForCalls(int calls) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::minutes(1), [&] { return calls_ >= calls; })) << calls_;
  }
  std::vector<std::string> saved() const {
    const std::lock_guard lock(mutex_);
    return saved_;
  }
  size_t largest() const {
    const std::lock_guard lock(mutex_);
    return largest_;
  }
  int calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool hold_ = false;
  int failures_ = 0;
  size_t settled_before_failure_ = 0;
  int calls_ = 0;
  std::string error_;
  std::function<void()> on_call_;
  std::vector<std::string> saved_;
  size_t largest_ = 0;
};

class PipelineTest : public testing::Test {
 protected:
  void Start(PipelineParts parts, PipelineOptions options = {}) {
    pipeline_ = std::make_unique<Pipeline>(std::move(parts), options, settled_.Callback());
  }
  PipelineParts Parts() { return {.pool = pool_, .save = save_.Callback(), .clock = clock_, .wall_clock = wall_}; }

  // Pushes the whole text. Returns the number of bytes that will be settled.
  uint64_t Push(const std::string& text, size_t chunk_bytes) {
    LineSplitter splitter({.chunk_bytes = chunk_bytes, .max_line_bytes = 4000}, 0, place_);
    const auto push = [this](Chunk chunk) { pipeline_->Push(std::move(chunk)); };
    splitter.Add(text, text.size(), push);
    splitter.End(push);
    place_ = splitter.place();
    return place_.bytes;
  }
  void PushAndWait(const std::string& text, size_t chunk_bytes) {
    const uint64_t bytes = Push(text, chunk_bytes);
    pipeline_->Flush();
    settled_.WaitForBytes(bytes);
  }

  ManualClock clock_{TimePoint{std::chrono::hours(1)}};
  ManualWallClock wall_{kLineTime + 100};
  ScriptedSave save_;
  Settlements settled_;
  Place place_;
  WorkPool pool_{3};
  std::unique_ptr<Pipeline> pipeline_;  // last: it uses the others
};

TEST_F(PipelineTest, SavesAndTellsInOrderWhateverTheChunks) {
  std::vector<std::string> expected;
  for (uint64_t i = 0; i < 120; ++i) expected.push_back(NoteLine(i));
  Start(Parts(), {.save_events = 25});
  const std::string text = Notes(0, 60) + "rubbish\n\n" + std::string(5000, 'x') + "\n" + Notes(60, 120);
  PushAndWait(text, 1000);
  EXPECT_EQ(save_.saved(), expected);
  EXPECT_LE(save_.largest(), 25U);
  const Tally tally = settled_.tally();
  EXPECT_EQ(tally[LineOutcome::kImported], 120U);
  EXPECT_EQ(tally[LineOutcome::kInvalid], 1U);
  EXPECT_EQ(tally[LineOutcome::kBlank], 1U);
  EXPECT_EQ(tally[LineOutcome::kTooLong], 1U);
  EXPECT_EQ(tally.bytes, text.size());
  EXPECT_EQ(settled_.rejects(), 2U);
}

TEST_F(PipelineTest, DoesNotSaveWhereThereIsNoEvent) {
  Start(Parts());
  PushAndWait("\n\nrubbish\n\n", 2);
  EXPECT_EQ(save_.calls(), 0);
  EXPECT_EQ(settled_.chunks(), 3U);
}

TEST_F(PipelineTest, ALingeringChunkIsSavedWithoutCompany) {
  Start(Parts(), {.linger = std::chrono::milliseconds(1)});
  settled_.WaitForBytes(Push(Notes(0, 1), 1000));
  EXPECT_EQ(save_.saved().size(), 1U);
}

TEST_F(PipelineTest, WaitsForAFullDiskAndSaysSo) {
  Start(Parts());
  save_.Fail(1'000'000, "cannot save: IO error: No space left on device",
             [this] { clock_.Advance(std::chrono::hours(1)); });
  const uint64_t bytes = Push(Notes(0, 3), 1000);
  pipeline_->Flush();
  save_.WaitForCalls(2);
  EXPECT_NE(pipeline_->Conditions().problem.find("No space left"), std::string::npos);
  EXPECT_EQ(settled_.bytes(), 0U);
  save_.Fail(0, "");
  settled_.WaitForBytes(bytes);
  EXPECT_EQ(pipeline_->Conditions().problem, "");
  EXPECT_EQ(save_.saved().size(), 3U);
  EXPECT_TRUE(pipeline_->Failure().ok());
}

TEST_F(PipelineTest, GoesOnAfterAnErrorThatPasses) {
  Start(Parts());
  save_.Fail(1, "cannot save: something odd");
  PushAndWait(Notes(0, 3), 1000);
  EXPECT_EQ(save_.saved().size(), 3U);
}

TEST_F(PipelineTest, DoesNotSaveAgainLinesThatWereSettledBeforeAnError) {
  Start(Parts());
  save_.SettleBeforeFailure(2);
  save_.Fail(2, "cannot save: IO error: passing");
  PushAndWait(Notes(0, 7), 10'000);
  EXPECT_EQ(save_.saved().size(), 7U);
  EXPECT_EQ(settled_.tally()[LineOutcome::kReplaced], 4U) << "as they were settled";
  EXPECT_EQ(settled_.tally()[LineOutcome::kImported], 3U);
}

TEST_F(PipelineTest, ABatchIsTracedWithItsGateAndEveryTry) {
  const auto tracer = std::make_shared<Tracer>(1, clock_);
  PipelineParts parts = Parts();
  parts.tracer = tracer.get();
  Start(std::move(parts));
  save_.Fail(1, "cannot save: something odd");
  const std::string text = Notes(0, 3);
  PushAndWait(text, 1000);
  pipeline_.reset();
  const std::vector<SpanData> spans = tracer->TakeEnded();
  EXPECT_EQ(Trees(spans), "import batch(bulk gate, commit, commit)");
  const SpanData& batch = *Find(spans, "import batch");
  EXPECT_EQ(Get(batch, "weir.events"), "3");
  EXPECT_EQ(Get(batch, "weir.class"), "bulk");
  EXPECT_GT(std::stoll(Get(batch, "weir.bytes")), 0);
  EXPECT_FALSE(batch.failed) << "it was saved";
  EXPECT_TRUE(Find(spans, "commit")->failed) << "the first";
}

TEST_F(PipelineTest, FailsWhenAnErrorLasts) {
  std::mutex mutex;
  std::condition_variable changed;
  bool failed = false;
  PipelineParts parts = Parts();
  parts.on_failure = [&] {
    const std::lock_guard lock(mutex);
    failed = true;
    changed.notify_all();
  };
  Start(parts);
  save_.Fail(1000, "cannot save: damaged", [this] { clock_.Advance(std::chrono::seconds(31)); });
  Push(Notes(0, 3), 1000);
  pipeline_->Flush();
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::minutes(1), [&] { return failed; }));
  EXPECT_EQ(pipeline_->Failure().message(), "cannot save: damaged");
  EXPECT_EQ(save_.calls(), 2);
  EXPECT_EQ(settled_.bytes(), 0U);
  Push(Notes(3, 6), 1000);  // dropped
}

TEST_F(PipelineTest, StopsInTheMiddle) {
  Start(Parts(), {.save_events = 5});
  save_.Hold(true);
  Push(Notes(0, 100), 1000);
  save_.WaitForCalls(1);
  std::thread stopper([this] { pipeline_->Stop(); });
  save_.Hold(false);
  stopper.join();
  pipeline_->Stop();
  // Everything that was saved was reported, and nothing else.
  EXPECT_EQ(settled_.tally()[LineOutcome::kImported], save_.saved().size());
  Push(Notes(100, 101), 1000);
  EXPECT_EQ(settled_.tally()[LineOutcome::kImported], save_.saved().size());
}

TEST_F(PipelineTest, StopsWhileTheDiskIsFull) {
  Start(Parts());
  save_.Fail(1'000'000, "cannot save: IO error: Disk quota exceeded");
  Push(Notes(0, 3), 1000);
  pipeline_->Flush();
  save_.WaitForCalls(1);
  pipeline_->Stop();
  EXPECT_EQ(settled_.bytes(), 0U);
}

TEST_F(PipelineTest, ADryRunCountsAndSavesNothing) {
  PipelineParts parts = Parts();
  parts.save = nullptr;
  Start(parts);
  PushAndWait(Notes(0, 10) + "rubbish", 1000);
  EXPECT_EQ(settled_.tally()[LineOutcome::kImported], 10U);
  EXPECT_EQ(settled_.tally()[LineOutcome::kInvalid], 1U);
  EXPECT_EQ(save_.calls(), 0);
}

class GatedPipelineTest : public PipelineTest {
 protected:
  PipelineParts GatedParts() {
    PipelineParts parts = Parts();
    parts.limiter = &limiter_;
    return parts;
  }
  void Tick() {
    clock_.Advance(std::chrono::milliseconds(100));
    (void)monitor_.SampleOnce();
    limiter_.Tick();
    limiter_.Pump();
  }
  void SayMemory(double pressure) {
    monitor_.Say([=](LoadSample* sample) {
      sample->memory_pressure = pressure;
      return Status();
    });
  }
  void BeginEmergency() {
    SayMemory(2.0);
    Tick();
  }
  void EndEmergency() {
    SayMemory(0.1);
    Tick();
  }
  // Pushes three notes, and returns when they wait at the gate. Returns the number of bytes that will be settled.
  uint64_t PushUntilThrottled() {
    const uint64_t bytes = Push(Notes(0, 3), 1000);
    pipeline_->Flush();
    EXPECT_TRUE(Eventually([&] { return pipeline_->Conditions().throttled >= 1; }));
    return bytes;
  }
  ~GatedPipelineTest() override { pipeline_.reset(); }

  ScriptedMonitor monitor_{clock_};
  AdaptiveLimiter limiter_{monitor_, {}};
};

TEST_F(GatedPipelineTest, WaitsOutAnEmergencyAndCountsTheTime) {
  Start(GatedParts());
  BeginEmergency();
  const uint64_t bytes = PushUntilThrottled();
  EXPECT_EQ(pipeline_->Conditions().limiting, "emergency");
  Tick();
  EXPECT_EQ(save_.calls(), 0);
  EXPECT_GE(pipeline_->Conditions().throttled_time, std::chrono::milliseconds(100));
  EndEmergency();
  settled_.WaitForBytes(bytes);
  EXPECT_EQ(save_.saved().size(), 3U);
  EXPECT_EQ(pipeline_->Conditions().throttled, 1U);
  EXPECT_GE(pipeline_->Conditions().delay, std::chrono::milliseconds(200));
}

TEST_F(GatedPipelineTest, NamesWhatHoldsItOnlyWhereItHadToWait) {
  Start(GatedParts());
  BeginEmergency();
  ASSERT_EQ(limiter_.Reason(Operation::kWrite, WorkClass::kBulk), "emergency");
  EXPECT_EQ(pipeline_->Conditions().limiting, "");
  const uint64_t bytes = PushUntilThrottled();
  EXPECT_EQ(pipeline_->Conditions().limiting, "emergency");
  EndEmergency();
  settled_.WaitForBytes(bytes);
  PushAndWait(Notes(3, 6), 1000);
  BeginEmergency();
  EXPECT_EQ(pipeline_->Conditions().limiting, "");
}

// Bulk work waits a minute at most; then the gate refuses, and the pipeline asks again.
TEST_F(GatedPipelineTest, AsksAgainAfterARefusal) {
  Start(GatedParts());
  BeginEmergency();
  const uint64_t bytes = PushUntilThrottled();
  clock_.Advance(std::chrono::seconds(61));
  Tick();
  EndEmergency();
  settled_.WaitForBytes(bytes);
  EXPECT_EQ(save_.saved().size(), 3U);
  EXPECT_EQ(pipeline_->Conditions().throttled, 1U);
}

TEST_F(GatedPipelineTest, StopsWhileTheGateHolds) {
  Start(GatedParts());
  BeginEmergency();
  PushUntilThrottled();
  pipeline_->Stop();
  EXPECT_EQ(save_.calls(), 0);
  EXPECT_EQ(settled_.bytes(), 0U);
}

}  // namespace
}  // namespace weir
