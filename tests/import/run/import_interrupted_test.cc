// Imports that are stopped or killed, and go on. WEIR_TORTURE_ROUNDS=1000 for a long run, WEIR_TORTURE_SEED for the
// same events and kills once more.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/import/run/import_fixture.h"

namespace weir {
namespace {

class ImportInterrupted : public ImportFixture {
 protected:
  // Interrupts an import when it has rejected "bad one", the last line that it was given.
  Ran Interrupt(std::vector<std::string> arguments, const std::string& input, int signal = SIGINT) const {
    arguments.insert(arguments.begin(), {"--data-dir", data_dir()});
    ImportChild child(arguments, ImportChild::Input::kPipe);
    EXPECT_TRUE(child.Write(input));
    EXPECT_TRUE(Eventually([&] { return TextOf(rejects()).ends_with("bad one\n"); })) << child.err();
    child.Signal(signal);
    return child.Wait();
  }
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
  const Ran stopped = Interrupt({"--summary=json", "-"}, begin);
  EXPECT_EQ(stopped.code, 2) << stopped.err;
  auto summary = Summary(stopped);
  EXPECT_EQ(Count(summary, "line"), 301U);
  EXPECT_EQ(std::string_view(summary["go_on"]), "weir import --resume --data-dir " + data_dir() + " --summary=json -");
  EXPECT_EQ(LineOfCheckpoint(), 301U);

  const Ran finished = ImportPiped(begin + rest, {"--summary=json", "--resume", "-"});
  EXPECT_EQ(finished.code, 1) << finished.err;
  EXPECT_NE(finished.err.find("going on after line 301 of standard input"), std::string::npos) << finished.err;
  summary = Summary(finished);
  EXPECT_EQ(Count(summary, "read"), 602U);
  EXPECT_EQ(Count(summary, "read_before"), 301U);
  EXPECT_EQ(Count(summary, "imported"), 600U);
  EXPECT_EQ(Stored().size(), 600U);
  EXPECT_EQ(Rejected(), 2U) << TextOf(rejects());
  EXPECT_FALSE(HasCheckpoint());
}

TEST_F(ImportInterrupted, AStreamThatIsAnotherOneIsRefused) {
  EXPECT_EQ(Interrupt({"-"}, Notes(0, 100) + "bad one\n", SIGTERM).code, 2);
  const Ran resumed = ImportPiped(Notes(1000, 200), {"--resume", "-"});
  EXPECT_EQ(resumed.code, 2);
  EXPECT_NE(resumed.err.find("is not what it was when the import stopped"), std::string::npos) << resumed.err;
  EXPECT_TRUE(HasCheckpoint());

  const Ran anew = ImportPiped(Notes(1000, 200), {"-"});
  EXPECT_EQ(anew.code, 0) << anew.err;
  EXPECT_NE(anew.err.find("stopped after line 101 of standard input; --resume would go on there"), std::string::npos)
      << anew.err;
  EXPECT_EQ(Stored().size(), 300U);
}

// The other import names its input alike, and its line comes where the first import was interrupted.
TEST_F(ImportInterrupted, ResumeKeepsTheRejectsOfAnotherImport) {
  const std::string begin = Notes(0, 10) + "bad one\n";
  EXPECT_EQ(Interrupt({"-"}, begin).code, 2);
  ImportChild other({"--data-dir", data_dir("other"), "--rejects", rejects(), "-"}, ImportChild::Input::kPipe);
  EXPECT_TRUE(other.Write("bad of the other\n"));
  other.EndInput();
  EXPECT_EQ(other.Wait().code, 1);
  const Ran resumed = ImportPiped(begin + "bad two\n", {"--resume", "-"});
  EXPECT_EQ(resumed.code, 1) << resumed.err;
  EXPECT_NE(TextOf(rejects()).find("bad of the other\n"), std::string::npos) << TextOf(rejects());
  EXPECT_EQ(Rejected(), 3U) << TextOf(rejects());
}

// The import is stopped when all of the first input is settled and nothing of the second.
class ImportBetweenTwo : public ImportInterrupted {
 protected:
  void StopBetween() {
    WriteText(file("a.jsonl"), Notes(0, 50) + "bad one\n");
    const Ran stopped = Interrupt({file("a.jsonl"), "-"}, "");
    ASSERT_EQ(stopped.code, 2) << stopped.err;
    EXPECT_NE(stopped.out.find("not begun: standard input\nstopped after line 51 of "), std::string::npos)
        << stopped.out;
    ASSERT_EQ(LineOfCheckpoint(), 51U);
  }
  Ran Resume(const std::string& input) const {
    return ImportPiped(input, {"--resume", "--summary=json", file("a.jsonl"), "-"});
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
  EXPECT_EQ(Rejected(), 2U) << TextOf(rejects());
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

// Imports events of three files of all kinds, so that a kill may come in any of them.
class ImportTorture : public ImportInterrupted {
 protected:
  void MakeInputs(uint64_t seed) {
    random_.seed(seed);
    std::string lines[3];
    for (uint64_t i = 0; i < 30'000; ++i) {
      std::string& text = lines[i / 10'000];
      text += Note(random_() % 20'000, random_() % 2000) + "\n";
      if (i % 97 == 0) text += "bad " + std::to_string(i) + "\n";
      if (i % 9973 == 0) text.append(500'000, 'x').append("\n");
    }
    WriteText(file("a.jsonl"), lines[0]);
    WriteText(file("b.gz"), Packed(Compression::kGzip, lines[1]));
    WriteText(file("c.zst"), Packed(Compression::kZstd, lines[2]));
  }
  ImportChild Begin(const std::string& data, bool resume = false) const {
    std::vector<std::string> arguments = {"--data-dir", data_dir(data), "--no-verify", "--summary=json",
                                          "--checkpoint-every=20"};
    if (resume) arguments.emplace_back("--resume");
    for (const char* input : {"a.jsonl", "b.gz", "c.zst"}) arguments.push_back(file(input));
    return ImportChild(arguments);
  }
  // Kills the import into "killed" and resumes it, until it comes to an end. A kill may also come when all but the exit
  // is done. Returns the last run.
  Ran KillUntilItEnds(Duration usual) {
    for (bool resume = false;; resume = true) {
      ++kills_;
      ImportChild child = Begin("killed", resume);
      // Waits up to as long as the whole takes, and now and then longer.
      std::this_thread::sleep_for(usual * (random_() % 100) / 60);
      child.Signal(SIGKILL);
      Ran run = child.Wait();
      const size_t place = run.err.find("going on after line ");
      if (place != run.err.npos && !run.err.substr(place).starts_with("going on after line 0 ")) ++within_a_file_;
      const bool done = !HasCheckpoint("killed") && !TextOf(rejects("killed")).empty();
      if (run.code != -SIGKILL || done) return run;
    }
  }

  std::mt19937_64 random_;
  int kills_ = 0;
  int within_a_file_ = 0;  // runs that were resumed within a file
};

TEST_F(ImportTorture, AKilledAndResumedImportIsLikeOneThatWasNotKilled) {
  const uint64_t seed = Seed();
  std::cout << "WEIR_TORTURE_SEED=" << seed << std::endl;
  MakeInputs(seed);
  // The time includes the start: under a sanitizer that is most of it.
  const auto begun = std::chrono::steady_clock::now();
  const Ran clean = Begin("clean").Wait();
  const Duration usual = std::chrono::steady_clock::now() - begun;
  ASSERT_EQ(clean.code, 1) << clean.err;
  const uint64_t read = Count(Summary(clean), "read");
  const auto expected = Stored("clean");
  while (kills_ < Rounds() || within_a_file_ == 0) {
    ASSERT_LT(kills_, Rounds() + 200) << "no kill came between the first checkpoint and the end";
    SCOPED_TRACE("after " + std::to_string(kills_) + " kills");
    std::filesystem::remove_all(data_dir("killed"));
    const Ran run = KillUntilItEnds(usual);
    if (run.code != -SIGKILL) {
      ASSERT_EQ(run.code, 1) << run.err;
      ASSERT_EQ(Count(Summary(run), "read"), read);
    }
    ASSERT_TRUE(Stored("killed") == expected) << "the databases differ";
    ASSERT_TRUE(TextOf(rejects("killed")) == TextOf(rejects("clean"))) << "the rejects differ";
    ASSERT_FALSE(HasCheckpoint("killed"));
  }
  RecordProperty("resumed", within_a_file_);
}

}  // namespace
}  // namespace weir
