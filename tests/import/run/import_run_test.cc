// ImportRun between a source and a destination that do as they are told.
#include "import/run/import_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <thread>

#include "config/manual_clock.h"
#include "tests/import/run/import_child.h"

namespace weir {
namespace {

class ListSource final : public Source {
 public:
  std::deque<Chunk> chunks;
  Status error;  // returned at the end
  std::string tail;
  std::atomic<bool> stopped{false};

  Result<std::optional<Chunk>> Next() override {
    if (stopped) return std::optional<Chunk>();
    if (chunks.empty()) {
      if (!error.ok()) return error;
      return std::optional<Chunk>();
    }
    std::optional<Chunk> chunk = std::move(chunks.front());
    chunks.pop_front();
    return chunk;
  }
  void Stop() override { stopped = true; }
  uint64_t total_bytes() const override { return 0; }
  uint64_t bytes_before(size_t) const override { return 0; }
  uint64_t first_file_bytes() const override { return 0; }
  size_t input() const override { return 0; }
  const std::string& first_tail() const override { return tail; }
};

// Settles what is pushed at once; a line that begins with '!' is rejected.
class ImmediateDestination final : public Destination {
 public:
  std::function<void(const SettledChunk&)> on_settled;
  std::function<void()> before_push = [] {};
  std::atomic<bool> stopped{false};
  uint64_t settles = UINT64_MAX;  // settles this many chunks, then cannot go on

  bool Push(Chunk chunk) override {
    before_push();
    if (stopped || settles == 0) return false;
    --settles;
    on_settled(Judge(std::move(chunk)));
    return true;
  }
  Status Finish() override {
    if (stopped) return Status::Error("stopped");
    return settles == 0 ? Status::Error("the database is damaged") : Status();
  }
  void Stop() override { stopped = true; }
  ImportConditions Conditions() const override { return {}; }
  std::string Describe() const override { return "nowhere"; }

 private:
  static SettledChunk Judge(Chunk chunk) {
    SettledChunk settled;
    settled.chunk = std::move(chunk);
    const std::string& text = settled.chunk.text;
    settled.tally.bytes = text.size();
    uint64_t line = settled.chunk.begin.lines;
    if (settled.chunk.kind == Chunk::Kind::kTooLong) {
      if (settled.chunk.first_piece) {
        ++settled.tally[LineOutcome::kTooLong];
        settled.rejects.push_back(
            {.line = line + 1, .size = text.size(), .outcome = LineOutcome::kTooLong, .reason = "long"});
      }
      return settled;
    }
    for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
      end = text.find('\n', begin);
      ++line;
      const bool bad = text[begin] == '!';
      ++settled.tally[bad ? LineOutcome::kInvalid : LineOutcome::kImported];
      if (bad) settled.rejects.push_back({.line = line, .begin = begin, .size = end - begin, .reason = "bad"});
    }
    return settled;
  }
};

class ImportRunTest : public testing::Test {
 protected:
  // Puts chunks into one input, one after the other.
  void Put(uint32_t input, const std::vector<std::string>& texts) {
    Place place;
    for (const std::string& text : texts) {
      Chunk chunk{.input = input, .text = text, .begin = place};
      place.bytes += text.size();
      place.lines += static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
      chunk.end = place;
      source_.chunks.push_back(std::move(chunk));
    }
  }

  void Make() {
    rejects_ = std::make_unique<RejectsFile>(rejects_path_);
    options_.inputs = options_.from.inputs = options_.from.names = {"a", "b"};
    options_.from.rejects = rejects_path_;
    options_.from.rejects_bytes = rejects_->bytes();
    run_ = std::make_unique<ImportRun>(
        ImportRunParts{.rejects = rejects_.get(), .checkpoint = &checkpoint_, .clock = clock_}, options_);
    destination_.on_settled = [this](const SettledChunk& settled) { run_->OnSettled(settled); };
  }
  Status Run() {
    if (!run_) Make();
    return run_->Run(source_, destination_);
  }
  Checkpoint Read() {
    const auto read = checkpoint_.Read();
    EXPECT_TRUE(read.ok()) << read.status().message();
    EXPECT_TRUE(read.ok() && read.value());
    return read.ok() && read.value() ? *read.value() : Checkpoint();
  }

  TempDirectory directory_;
  std::string rejects_path_ = directory_ / "rejects.tsv";
  CheckpointFile checkpoint_{directory_ / "c.json"};
  ManualClock clock_;
  ImportRunOptions options_;
  std::unique_ptr<RejectsFile> rejects_;
  std::unique_ptr<ImportRun> run_;
  ListSource source_;
  ImmediateDestination destination_;
};

TEST_F(ImportRunTest, AWholeImportLeavesItsRejectsAndNoCheckpoint) {
  Put(0, {"x\n!y\n", "z\n"});
  Put(1, {"!v\n"});
  ASSERT_TRUE(Run().ok());
  EXPECT_EQ(TextOf(rejects_path_), "a:2\tbad\t!y\nb:1\tbad\t!v\n");
  EXPECT_FALSE(std::filesystem::exists(checkpoint_.path()));
  const ImportRunState state = run_->State();
  EXPECT_EQ(state.tally[LineOutcome::kImported], 2U);
  EXPECT_EQ(state.tally.rejected(), 2U);
  EXPECT_EQ(state.input, 1U);
  EXPECT_EQ(state.place.lines, 1U);
}

TEST_F(ImportRunTest, ThereIsACheckpointBeforeAnythingIsSettled) {
  Put(0, {"x\n"});
  destination_.before_push = [&] { EXPECT_EQ(Read().place.bytes, 0U); };
  EXPECT_TRUE(Run().ok());
}

TEST_F(ImportRunTest, ACheckpointIsWrittenEverySecond) {
  Put(0, {"x\n", "!y\n", "z\n", "u\n"});
  std::vector<uint64_t> seen;
  destination_.before_push = [&] {
    seen.push_back(Read().place.lines);
    clock_.Advance(std::chrono::milliseconds(600));
  };
  EXPECT_TRUE(Run().ok());
  EXPECT_EQ(seen, (std::vector<uint64_t>{0, 0, 2, 2}));
}

TEST_F(ImportRunTest, ADamagedInputLeavesACheckpointOfWhatCameBefore) {
  Put(0, {"x\n!y\n", "z\n"});
  source_.error = Status::Error("a: damaged");
  EXPECT_EQ(Run().message(), "a: damaged");
  EXPECT_TRUE(run_->input_failed());
  const Checkpoint left = Read();
  EXPECT_EQ(left.input, 0U);
  EXPECT_EQ(left.place.lines, 3U);
  EXPECT_EQ(left.place.bytes, 7U);
  EXPECT_EQ(left.tally.read(), 3U);
  EXPECT_EQ(left.rejects_bytes, TextOf(rejects_path_).size());
  Tail tail;
  tail.Add("x\n!y\nz\n");
  EXPECT_EQ(left.tail, tail.Hex());
}

TEST_F(ImportRunTest, ADestinationThatCanGoOnNoMoreLeavesACheckpoint) {
  Put(0, {"x\n", "y\n"});
  destination_.settles = 1;
  EXPECT_EQ(Run().message(), "the database is damaged");
  EXPECT_FALSE(run_->input_failed());
  EXPECT_EQ(Read().place.lines, 1U);
}

TEST_F(ImportRunTest, HasBegunWhenSomethingIsSettled) {
  options_.file_bytes = 7;
  Put(0, {"x\n"});
  Make();
  EXPECT_FALSE(run_->State().begun);
  EXPECT_EQ(run_->State().file_bytes, 7U);
  EXPECT_TRUE(Run().ok());
  EXPECT_TRUE(run_->State().begun);
}

TEST_F(ImportRunTest, ACheckpointThatCannotBeWrittenStopsNothingAndIsTold) {
  options_.checkpoint_interval = {};
  std::filesystem::create_directory(checkpoint_.path() + ".new");  // in the way
  Put(0, {"x\n", "y\n"});
  source_.error = Status::Error("damaged");
  EXPECT_EQ(Run().message(), "damaged");
  EXPECT_EQ(run_->State().tally.read(), 2U);
  EXPECT_NE(run_->checkpoint_problem().find("cannot write the checkpoint"), std::string::npos);
}

TEST_F(ImportRunTest, StopLeavesACheckpoint) {
  Put(0, {"x\n", "y\n"});
  int pushes = 0;
  destination_.before_push = [&] {
    if (++pushes == 2) run_->Stop();
  };
  EXPECT_EQ(Run().message(), "stopped");
  EXPECT_TRUE(source_.stopped);
  EXPECT_EQ(Read().place.lines, 1U);
}

TEST_F(ImportRunTest, MayBeStoppedBeforeItBegins) {
  Put(0, {"x\n"});
  Make();
  run_->Stop();
  EXPECT_EQ(Run().message(), "stopped");
  EXPECT_EQ(run_->State().tally.read(), 0U);
}

TEST_F(ImportRunTest, ACheckpointNeverStandsWithinALine) {
  Put(0, {"x\n"});
  for (const bool last : {false, true}) {
    Chunk piece{.kind = Chunk::Kind::kTooLong, .first_piece = !last, .last_piece = last, .text = last ? "bb\n" : "aa"};
    piece.begin = {.bytes = last ? 4U : 2U, .lines = 1};
    piece.end = {.bytes = last ? 7U : 4U, .lines = last ? 2U : 1U};
    source_.chunks.push_back(piece);
  }
  options_.checkpoint_interval = {};
  std::vector<uint64_t> seen;
  destination_.before_push = [&] { seen.push_back(Read().place.bytes); };
  destination_.settles = 2;
  EXPECT_FALSE(Run().ok());
  EXPECT_EQ(seen, (std::vector<uint64_t>{0, 2, 2}));
  const Checkpoint left = Read();
  EXPECT_EQ(left.place.bytes, 2U);
  EXPECT_EQ(left.tally.read(), 1U);
  EXPECT_EQ(left.rejects_bytes, 0U);
  Tail tail;
  tail.Add("x\n");
  EXPECT_EQ(left.tail, tail.Hex());
}

TEST_F(ImportRunTest, GoesOnWithTheTailThatItBeganWith) {
  Put(0, {"y\n"});
  source_.tail = "x\n";
  Chunk& chunk = source_.chunks.front();
  chunk.begin = options_.from.place = {.bytes = 2, .lines = 1};
  chunk.end = {.bytes = 4, .lines = 2};
  options_.from.tally[LineOutcome::kImported] = 1;
  source_.error = Status::Error("damaged");
  EXPECT_FALSE(Run().ok());
  Tail tail;
  tail.Add("x\ny\n");
  EXPECT_EQ(Read().tail, tail.Hex());
  EXPECT_EQ(Read().tally.read(), 2U);
}

TEST_F(ImportRunTest, RetriesToWriteRejectsAndLosesNoLine) {
  rejects_path_ = directory_ / "missing/rejects.tsv";
  options_.retry = std::chrono::milliseconds(1);
  Put(0, {"!x\n", "y\n"});
  Make();
  std::thread run([this] { EXPECT_TRUE(Run().ok()); });
  EXPECT_TRUE(Eventually([this] { return run_->State().problem.find("No such file") != std::string::npos; }));
  EXPECT_EQ(run_->State().tally.read(), 0U);
  std::filesystem::create_directory(directory_ / "missing");
  run.join();
  EXPECT_EQ(run_->State().problem, "");
  EXPECT_EQ(TextOf(rejects_path_), "a:1\tbad\t!x\n");
  EXPECT_EQ(run_->State().tally.read(), 2U);
}

TEST_F(ImportRunTest, NoCheckpointCoversALineWhoseRejectIsNotWritten) {
  rejects_path_ = directory_ / "missing/rejects.tsv";
  options_.checkpoint_interval = {};
  Put(0, {"x\n", "!y\n", "z\n"});
  Make();
  std::thread run([this] { EXPECT_EQ(Run().message(), "stopped"); });
  EXPECT_TRUE(Eventually([this] { return !run_->State().problem.empty(); }));
  run_->Stop();
  run.join();
  // The problem is not over, and must not be told to be.
  EXPECT_NE(run_->State().problem, "");
  EXPECT_EQ(Read().place.lines, 1U);
}

}  // namespace
}  // namespace weir
