// Imports that are stopped or killed, and go on. WEIR_TORTURE_ROUNDS=1000 for a long run, WEIR_TORTURE_SEED for the
// same events and kills once more.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

#include "tests/import/run/import_fixture.h"

namespace weir {
namespace {

class ImportInterrupted : public ImportFixture {
 protected:
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
  ASSERT_TRUE(Eventually([&] { return TextOf(rejects()).ends_with("bad one\n"); }));
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
  EXPECT_NE(finished.err.find("going on after line 301 of standard input"), std::string::npos) << finished.err;
  summary = Summary(finished);
  EXPECT_EQ(Count(summary, "read"), 602U);
  EXPECT_EQ(Count(summary, "read_before"), 301U);
  EXPECT_EQ(Count(summary, "imported"), 600U);
  EXPECT_EQ(Stored().size(), 600U);
  const std::string text = TextOf(rejects());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_FALSE(HasCheckpoint());
}

TEST_F(ImportInterrupted, AStreamThatIsAnotherOneIsRefused) {
  ImportChild first({"--data-dir", data_dir(), "-"}, ImportChild::Input::kPipe);
  ASSERT_TRUE(first.Write(Notes(0, 100) + "bad\n"));
  ASSERT_TRUE(Eventually([&] { return !TextOf(rejects()).empty(); }));
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
  EXPECT_NE(third.err.find("stopped after line 101 of standard input; --resume would go on there"), std::string::npos)
      << third.err;
  EXPECT_EQ(Stored().size(), 300U);
}

// The import is stopped when all of the first input is settled and nothing of the second.
class ImportBetweenTwo : public ImportInterrupted {
 protected:
  void StopBetween() {
    WriteText(file("a.jsonl"), Notes(0, 50) + "bad one\n");
    ImportChild first({"--data-dir", data_dir(), file("a.jsonl"), "-"}, ImportChild::Input::kPipe);
    ASSERT_TRUE(Eventually([&] { return TextOf(rejects()).ends_with("bad one\n"); })) << first.err();
    first.Signal(SIGINT);
    const Ran stopped = first.Wait();
    ASSERT_EQ(stopped.code, 2) << stopped.err;
    EXPECT_NE(stopped.out.find("not begun: standard input\nstopped after line 51 of "), std::string::npos)
        << stopped.out;
    ASSERT_EQ(LineOfCheckpoint(), 51U);
  }
  Ran Resume(const std::string& standard_input) {
    ImportChild second({"--data-dir", data_dir(), "--resume", "--summary=json", file("a.jsonl"), "-"},
                       ImportChild::Input::kPipe);
    EXPECT_TRUE(second.Write(standard_input));
    second.EndInput();
    return second.Wait();
  }
};

TEST_F(ImportBetweenTwo, GoesOnWithTheSecond) {
  ASSERT_NO_FATAL_FAILURE(StopBetween());
  const Ran run = Resume(Notes(50, 50) + "bad two\n");
  EXPECT_EQ(run.code, 1) << run.err;
  const auto summary = Summary(run);
  EXPECT_EQ(Count(summary, "read"), 102U);
  EXPECT_EQ(Count(summary, "read_before"), 51U);
  EXPECT_EQ(Stored().size(), 100U);
  const std::string text = TextOf(rejects());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST_F(ImportBetweenTwo, AnotherDatabaseIsRefused) {
  ASSERT_NO_FATAL_FAILURE(StopBetween());
  const std::string kept = TextOf(rejects());
  for (const bool there : {false, true}) {
    std::filesystem::remove_all(data_dir() + "/events");
    if (there) MustOpen(SmallStore(data_dir() + "/events")).reset();
    const Ran run = Resume("");
    EXPECT_EQ(run.code, 2);
    EXPECT_NE(run.err.find("the database in " + data_dir() +
                           " is not the one that the import was stopped in; start anew without --resume"),
              std::string::npos)
        << run.err;
    EXPECT_EQ(std::filesystem::exists(data_dir() + "/events"), there);
    EXPECT_TRUE(HasCheckpoint());
    EXPECT_EQ(TextOf(rejects()), kept);
  }
}

TEST_F(ImportBetweenTwo, ACheckpointOfOtherFilesIsRefused) {
  ASSERT_NO_FATAL_FAILURE(StopBetween());
  for (const auto& entry : std::filesystem::directory_iterator(data_dir() + "/import")) {
    if (entry.path().extension() != ".json") continue;
    std::string text = TextOf(entry.path());
    const size_t begin = text.find("\"inputs\": [") + 11;
    text.insert(begin, "\"/more.jsonl\",");
    WriteText(entry.path(), text);
  }
  const Ran run = Resume("");
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("is of other files"), std::string::npos) << run.err;
}

uint64_t Seed() {
  const char* seed = std::getenv("WEIR_TORTURE_SEED");
  return seed != nullptr ? std::strtoull(seed, nullptr, 10) : std::random_device{}();
}

int Rounds() {
  const char* rounds = std::getenv("WEIR_TORTURE_ROUNDS");
  return rounds != nullptr ? std::atoi(rounds) : 6;
}

// The events are in three files of all kinds, so that the place may be in any of them.
TEST_F(ImportInterrupted, TortureKilledAndResumedItIsAsIfNothingHadBeen) {
  const uint64_t seed = Seed();
  std::cout << "WEIR_TORTURE_SEED=" << seed << std::endl;
  std::mt19937_64 random(seed);
  std::string lines[3];
  for (uint64_t i = 0; i < 30'000; ++i) {
    std::string& text = lines[i / 10'000];
    text += Note(random() % 20'000, random() % 2000) + "\n";
    if (i % 97 == 0) text += "bad " + std::to_string(i) + "\n";
    if (i % 9973 == 0) text.append(500'000, 'x').append("\n");
  }
  WriteText(file("a.jsonl"), lines[0]);
  WriteText(file("b.gz"), Packed(Compression::kGzip, lines[1]));
  WriteText(file("c.zst"), Packed(Compression::kZstd, lines[2]));
  const std::vector<std::string> inputs = {file("a.jsonl"), file("b.gz"), file("c.zst")};
  const auto arguments = [&](const std::string& data, bool resume) {
    std::vector<std::string> all = {"--data-dir", data_dir(data), "--no-verify", "--summary=json",
                                    "--checkpoint-every=20"};
    if (resume) all.emplace_back("--resume");
    all.insert(all.end(), inputs.begin(), inputs.end());
    return all;
  };
  // Its start counts too: under a sanitizer that is most of it.
  const auto begun = std::chrono::steady_clock::now();
  const Ran clean = ImportChild(arguments("clean", false)).Wait();
  const auto usual = std::chrono::steady_clock::now() - begun;
  ASSERT_EQ(clean.code, 1) << clean.err;
  const auto expected = Stored("clean");
  const std::string expected_rejects = TextOf(rejects("clean"));
  const auto clean_run = Summary(clean);
  const uint64_t read = Count(clean_run, "read");

  int within_a_file = 0;
  for (int round = 0; round < Rounds() || within_a_file == 0;) {
    ASSERT_LT(round, Rounds() + 200) << "no kill came between the first checkpoint and the end";
    SCOPED_TRACE("round " + std::to_string(round));
    std::filesystem::remove_all(data_dir("killed"));
    Ran run{.code = -SIGKILL};
    bool done = false;  // killed when all but the exit was done
    for (bool resume = false; run.code == -SIGKILL && !done; resume = true, ++round) {
      ImportChild child(arguments("killed", resume));
      // Waits up to as long as the whole takes, and now and then longer, so that it comes to an end.
      std::this_thread::sleep_for(usual * (random() % 100) / 60);
      child.Signal(SIGKILL);
      run = child.Wait();
      const size_t place = run.err.find("going on after line ");
      if (place != run.err.npos && !run.err.substr(place).starts_with("going on after line 0 ")) ++within_a_file;
      done = !HasCheckpoint("killed") && !TextOf(rejects("killed")).empty();
    }
    if (run.code != -SIGKILL) {
      ASSERT_EQ(run.code, 1) << run.err;
      ASSERT_EQ(Count(Summary(run), "read"), read);
    }
    ASSERT_TRUE(Stored("killed") == expected) << "the databases differ";
    ASSERT_TRUE(TextOf(rejects("killed")) == expected_rejects) << "the rejects differ";
    ASSERT_FALSE(HasCheckpoint("killed"));
  }
  RecordProperty("resumed", within_a_file);
}

}  // namespace
}  // namespace weir
