// Imports that are stopped or killed, and go on. WEIR_TORTURE_ROUNDS=1000 for a long run.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/import_ops/import_fixture.h"

namespace weir {
namespace {

class ImportInterrupted : public ImportFixture {
 protected:
  int resumed_ = 0;

  uint64_t LineOfCheckpoint() {
    const std::string text = Checkpoint();
    simdjson::dom::element json;
    uint64_t lines = 0;
    EXPECT_EQ(parser_.parse(simdjson::padded_string(text)).get(json), simdjson::SUCCESS);
    EXPECT_EQ(json["lines"].get(lines), simdjson::SUCCESS);
    return lines;
  }
};

TEST_F(ImportInterrupted, CtrlCLeavesACheckpointAndResumeGoesOn) {
  const std::string begin = Notes(0, 300) + "bad one\n";
  const std::string rest = Notes(300, 300) + "bad two\n";
  const std::vector<std::string> arguments = {"--data-dir", data_dir(), "--summary=json", "-"};
  ImportChild first(arguments, ImportChild::Input::kPipe);
  ASSERT_TRUE(first.Write(begin));
  ASSERT_TRUE(Eventually([&] { return ReadAll(rejects()).ends_with("bad one\n"); }));
  first.Signal(SIGINT);
  const Ran stopped = first.Wait();
  EXPECT_EQ(stopped.code, 2) << stopped.err;
  auto summary = Summary(stopped);
  const uint64_t line = Count(summary, "line");
  EXPECT_EQ(line, 301U);
  EXPECT_EQ(std::string_view(summary["go_on"]), "weir import --resume --data-dir " + data_dir() + " --summary=json -");
  EXPECT_EQ(LineOfCheckpoint(), line);

  ImportChild second({"--data-dir", data_dir(), "--summary=json", "--resume", "-"}, ImportChild::Input::kPipe);
  ASSERT_TRUE(second.Write(begin + rest));
  second.EndInput();
  const Ran finished = second.Wait();
  EXPECT_EQ(finished.code, 1) << finished.err;
  EXPECT_NE(finished.err.find("going on after line 301 of -"), std::string::npos) << finished.err;
  summary = Summary(finished);
  EXPECT_EQ(Count(summary, "read"), 602U);
  EXPECT_EQ(Count(summary, "read_before"), 301U);
  EXPECT_EQ(Count(summary, "imported"), 600U);
  EXPECT_EQ(Stored().size(), 600U);
  const std::string text = ReadAll(rejects());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_FALSE(HasCheckpoint());
}

TEST_F(ImportInterrupted, AStreamThatIsAnotherOneIsRefused) {
  ImportChild first({"--data-dir", data_dir(), "-"}, ImportChild::Input::kPipe);
  ASSERT_TRUE(first.Write(Notes(0, 100) + "bad\n"));
  ASSERT_TRUE(Eventually([&] { return !ReadAll(rejects()).empty(); }));
  first.Signal(SIGTERM);
  EXPECT_EQ(first.Wait().code, 2);
  ImportChild second({"--data-dir", data_dir(), "--resume", "-"}, ImportChild::Input::kPipe);
  second.Write(Notes(1000, 200));
  second.EndInput();
  const Ran run = second.Wait();
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("is not what it was when the import stopped"), std::string::npos) << run.err;
  EXPECT_TRUE(HasCheckpoint());

  ImportChild anew({"--data-dir", data_dir(), "-"}, ImportChild::Input::kPipe);
  ASSERT_TRUE(anew.Write(Notes(1000, 200)));
  anew.EndInput();
  const Ran third = anew.Wait();
  EXPECT_EQ(third.code, 0) << third.err;
  EXPECT_NE(third.err.find("stopped after line 101 of -; --resume would go on there"), std::string::npos) << third.err;
  EXPECT_EQ(Stored().size(), 300U);
}

int Rounds() {
  const char* rounds = std::getenv("WEIR_TORTURE_ROUNDS");
  return rounds != nullptr ? std::atoi(rounds) : 6;
}

// In two files, so that the place may be in either.
TEST_F(ImportInterrupted, TortureKilledAndResumedItIsAsIfNothingHadBeen) {
  std::mt19937_64 random(std::random_device{}());
  std::string lines[2];
  for (uint64_t i = 0; i < 30'000; ++i) {
    std::string& text = lines[i / 15'000];
    text += Note(random() % 20'000, random() % 2000) + "\n";
    if (i % 97 == 0) text += "bad " + std::to_string(i) + "\n";
    if (i % 9973 == 0) text.append(500'000, 'x').append("\n");
  }
  WriteAll(file("a.jsonl"), lines[0]);
  WriteAll(file("b.jsonl"), lines[1]);
  const std::vector<std::string> inputs = {file("a.jsonl"), file("b.jsonl")};
  const auto arguments = [&](const std::string& data, bool resume) {
    std::vector<std::string> all = {"--data-dir", data_dir(data), "--no-verify", "--summary=json",
                                    "--checkpoint-every=20"};
    if (resume) all.emplace_back("--resume");
    all.insert(all.end(), inputs.begin(), inputs.end());
    return all;
  };
  const Ran clean = ImportChild(arguments("clean", false)).Wait();
  ASSERT_EQ(clean.code, 1) << clean.err;
  const auto expected = Stored("clean");
  const std::string expected_rejects = ReadAll(rejects("clean"));
  const auto clean_run = Summary(clean);
  const uint64_t read = Count(clean_run, "read");
  const auto usual = std::chrono::microseconds(static_cast<int64_t>(double(clean_run["seconds"]) * 1e6));

  for (int round = 0; round < Rounds();) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::filesystem::remove_all(data_dir("killed"));
    Ran run{.code = -SIGKILL};
    for (bool resume = false; run.code == -SIGKILL; resume = true, ++round) {
      ImportChild child(arguments("killed", resume));
      // As long as the whole takes, and now and then longer, so that it comes to an end.
      std::this_thread::sleep_for(usual * (random() % 100) / 60);
      child.Signal(SIGKILL);
      run = child.Wait();
      if (run.err.find("going on after line") != run.err.npos) ++resumed_;
    }
    ASSERT_EQ(run.code, 1) << run.err;
    ASSERT_EQ(Count(Summary(run), "read"), read);
    ASSERT_TRUE(Stored("killed") == expected) << "the databases differ";
    ASSERT_EQ(ReadAll(rejects("killed")), expected_rejects);
    ASSERT_FALSE(HasCheckpoint("killed"));
  }
  RecordProperty("resumed", resumed_);
}

}  // namespace
}  // namespace weir
