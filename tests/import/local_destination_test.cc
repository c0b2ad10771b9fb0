#include "import/local_destination.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "import/input/source.h"
#include "tests/fixtures/engine_options.h"
#include "tests/fixtures/eventually.h"
#include "tests/import/signed_events.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

Chunk NoteChunk(uint64_t number) { return {.text = NoteLine(number) + "\n"}; }

class LocalDestinationTest : public testing::Test {
 protected:
  RelayConfiguration Configuration() {
    RelayConfiguration configuration;
    configuration.data_dir = directory_.path();
    configuration.storage.memory.target_memory_mb = 256;
    return configuration;
  }
  Destination::OnSettled Count() {
    return [this](const SettledChunk& settled) {
      imported_ += settled.tally[LineOutcome::kImported];
      duplicates_ += settled.tally[LineOutcome::kDuplicate];
    };
  }

  TempDirectory directory_;
  std::atomic<uint64_t> imported_{0};
  std::atomic<uint64_t> duplicates_{0};
};

TEST_F(LocalDestinationTest, ImportsIntoTheDatabaseOfTheConfiguration) {
  for (const uint64_t before : {0, 50}) {
    Result<std::unique_ptr<Destination>> opened = OpenDatabaseDestination(Configuration(), {}, Count());
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(opened.value()->Describe(), directory_ / "events");
    for (uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(opened.value()->Push(NoteChunk(i)));
    const Status finished = opened.value()->Finish();
    EXPECT_TRUE(finished.ok()) << finished.message();
    EXPECT_EQ(duplicates_, before);
  }
  EXPECT_EQ(imported_, 50U);
  StoreOptions options = SmallStore(directory_ / "events");
  EXPECT_EQ(StoredIds(*MustOpen(options)).size(), 50U);
}

TEST_F(LocalDestinationTest, StopDoesNotWaitForThePluginsAnswer) {
  RelayConfiguration configuration = Configuration();
  const std::string asked = directory_ / "asked";
  // A plugin whose command names a file that changes is started anew, so the command does not name the output.
  const std::string program = directory_ / "program";
  std::ofstream(program) << "exec cat > " << asked;
  configuration.plugins.write.command = "exec sh " + program;
  configuration.plugins.timeout = std::chrono::hours(1);
  Result<std::unique_ptr<Destination>> opened = OpenDatabaseDestination(configuration, {}, Count());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_TRUE(opened.value()->Push(NoteChunk(1)));
  std::thread finish([&] { EXPECT_FALSE(opened.value()->Finish().ok()); });
  EXPECT_TRUE(Eventually([&] { return std::filesystem::exists(asked) && std::filesystem::file_size(asked) > 0; }));
  opened.value()->Stop();
  finish.join();
  EXPECT_EQ(imported_, 0U);
}

TEST_F(LocalDestinationTest, RocksDbKeepsItsOwnBrakesWhereTheThrottleIsDisabled) {
  for (const bool enabled : {true, false}) {
    RelayConfiguration configuration = Configuration();
    configuration.storage.limiter.enabled = enabled;
    ASSERT_TRUE(OpenDatabaseDestination(configuration, {}, Count()).ok());
    EXPECT_EQ(EngineOption(directory_ / "events", "level0_slowdown_writes_trigger"),
              enabled ? (std::set<std::string>{"28", "56"}) : (std::set<std::string>{"12", "24"}));
  }
}

TEST_F(LocalDestinationTest, NamesTheProcessThatHasTheDatabase) {
  const std::unique_ptr<RocksDbStore> store = MustOpen(SmallStore(directory_ / "events"));
  const Result<std::unique_ptr<Destination>> opened = OpenDatabaseDestination(Configuration(), {}, Count());
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.status().message().find("in use by process"), std::string::npos) << opened.status().message();
}

TEST_F(LocalDestinationTest, ADryRunNeedsNoDatabase) {
  const std::unique_ptr<Destination> dry_run = MakeDryRun({.threads = 2}, Count());
  for (uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(dry_run->Push(NoteChunk(i)));
  EXPECT_TRUE(dry_run->Finish().ok());
  EXPECT_EQ(imported_, 50U);
}

// A store whose first Save hangs until it is let go.
class HangingSave {
 public:
  auto Callback() {
    return [this](std::span<const Event>, std::span<SaveResult>) {
      saving_ = true;
      saving_.notify_all();
      hang_.wait(true);
      return Status();
    };
  }
  void WaitForSave() { saving_.wait(false); }
  void LetGo() {
    hang_ = false;
    hang_.notify_all();
  }

 private:
  std::atomic<bool> saving_{false};
  std::atomic<bool> hang_{true};
};

TEST_F(LocalDestinationTest, HoldsNoMoreThanItsWindow) {
  HangingSave save;
  std::atomic<int64_t> own_bytes{0};
  LocalParts parts{.save = save.Callback(),
                   .count_own_bytes =
                       [&](int64_t bytes, OwnUse use) {
                         EXPECT_EQ(use, OwnUse::kWaiting);
                         own_bytes += bytes;
                       },
                   .window_bytes = 3 * WeightOf(NoteChunk(11))};
  std::optional<LocalDestination> destination;
  destination.emplace(std::move(parts), DestinationOptions{.judge = {}, .threads = 2}, Count());
  std::atomic<uint64_t> pushed{0};
  std::thread pusher([&] {
    for (uint64_t i = 10; i < 30; ++i)
      if (destination->Push(NoteChunk(i))) ++pushed;
  });
  save.WaitForSave();
  EXPECT_LE(pushed, 3U);
  EXPECT_LE(own_bytes, static_cast<int64_t>(3 * WeightOf(NoteChunk(11)) * 5 / 2));
  save.LetGo();
  pusher.join();
  EXPECT_TRUE(destination->Finish().ok());
  EXPECT_EQ(pushed, 20U);
  EXPECT_EQ(imported_, 20U);
  EXPECT_EQ(own_bytes, 0);
  destination.reset();
  EXPECT_EQ(own_bytes, 0) << "chunks that were dropped count no more";
}

// A reject costs more than the byte that is rejected.
TEST_F(LocalDestinationTest, CountsShortLinesForWhatTheyCost) {
  constexpr uint64_t kLines = 1000;
  std::string text;
  for (uint64_t i = 0; i < kLines; ++i) text += "x\n";
  const Chunk chunk{.text = text, .begin = {}, .end = {.bytes = text.size(), .lines = kLines}};
  std::atomic<int64_t> own_bytes{0};
  int64_t pushed = 0;
  std::atomic<int64_t> settled{0};
  int64_t most_under_way = 0;
  LocalParts parts{.count_own_bytes = [&](int64_t bytes, OwnUse) { own_bytes += bytes; },
                   .window_bytes = 3 * WeightOf(chunk)};
  LocalDestination destination(std::move(parts), {.judge = {}, .threads = 1}, [&](const SettledChunk& told) {
    EXPECT_EQ(told.rejects.size(), kLines);
    EXPECT_GE(own_bytes, static_cast<int64_t>(kLines * sizeof(Reject)));
    EXPECT_LE(own_bytes, static_cast<int64_t>(3 * WeightOf(chunk) * 5 / 2));
    ++settled;
  });
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(destination.Push(chunk));
    most_under_way = std::max<int64_t>(most_under_way, ++pushed - settled);
  }
  EXPECT_TRUE(destination.Finish().ok());
  EXPECT_LE(most_under_way, 3);
  EXPECT_EQ(settled, 200);
  EXPECT_EQ(own_bytes, 0);
}

// By then everything is settled and in the log.
TEST_F(LocalDestinationTest, WaitsForRoomToFlushAndSaysSo) {
  LocalDestination* destination = nullptr;
  int flushes = 0;
  std::string problem;
  const auto flush = [&]() -> Status {
    problem = destination->Conditions().problem;
    if (++flushes < 3) return Status::Error("cannot write what is in memory: IO error: No space left on device");
    return {};
  };
  LocalDestination opened({.flush = flush}, {.judge = {}, .threads = 1}, Count());
  destination = &opened;
  EXPECT_TRUE(opened.Push(NoteChunk(1)));
  const Status finished = opened.Finish();
  EXPECT_TRUE(finished.ok()) << finished.message();
  EXPECT_EQ(flushes, 3);
  EXPECT_NE(problem.find("No space left"), std::string::npos) << problem;
  EXPECT_EQ(opened.Conditions().problem, "");
}

TEST_F(LocalDestinationTest, IsWholeWhereItIsStoppedWhileItWaitsToFlush) {
  std::atomic<bool> tried{false};
  const auto flush = [&] {
    tried = true;
    tried.notify_all();
    return Status::Error("cannot write what is in memory: IO error: No space left on device");
  };
  LocalDestination destination({.flush = flush}, {.judge = {}, .threads = 1}, Count());
  EXPECT_TRUE(destination.Push(NoteChunk(1)));
  std::thread stopper([&] {
    tried.wait(false);
    destination.Stop();
  });
  const Status finished = destination.Finish();
  stopper.join();
  EXPECT_TRUE(finished.ok()) << finished.message();
  EXPECT_EQ(imported_, 1U);
}

TEST_F(LocalDestinationTest, StopLetsPushAndFinishGo) {
  HangingSave save;
  LocalDestination destination({.save = save.Callback(), .window_bytes = 1}, {.judge = {}, .threads = 1}, Count());
  bool second = true;
  Status finished;
  EXPECT_TRUE(destination.Push(NoteChunk(1)));
  std::thread pusher([&] {
    second = destination.Push(NoteChunk(2));
    finished = destination.Finish();
  });
  save.WaitForSave();
  std::thread stopper([&] { destination.Stop(); });
  pusher.join();  // though the save still hangs
  save.LetGo();
  stopper.join();
  EXPECT_FALSE(second);
  EXPECT_EQ(finished.message(), "stopped");
}

}  // namespace
}  // namespace weir
