// Chunks on their way to a real relay, which comes and goes.
#include "import/relay_destination.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <random>

#include "import/relay_part.h"
#include "relay/admin/admin.h"
#include "tests/fixtures/eventually.h"
#include "tests/import/serve/told.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

class RelayDestinationTest : public ServiceTest {
 protected:
  std::unique_ptr<Destination> MakeDestination(const RelayDestinationTimes& times = kFast) {
    DestinationOptions options;
    options.judge.limits = EventLimitsOf(configuration_.relay);
    RelayAddress address{.url = url(), .holder = "process 12 (weir relay)"};
    address.token = [this] { return ReadAdminToken(configuration_.data_dir); };
    auto made = MakeRelayDestination(address, options, told_.Listener(), times);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(made).value();
  }
  void WaitForProblem(const Destination& destination, const std::string& words) {
    WaitFor(destination, [&](const std::string& problem) { return problem.find(words) != std::string::npos; });
  }
  void WaitForNoProblem(const Destination& destination) {
    WaitFor(destination, [](const std::string& problem) { return problem.empty(); });
  }
  void WaitFor(const Destination& destination, const std::function<bool(const std::string& problem)>& is_there) {
    EXPECT_TRUE(Eventually([&] { return is_there(destination.Conditions().problem); }))
        << destination.Conditions().problem;
  }

  static constexpr RelayDestinationTimes kFast{.first_retry = milliseconds(20), .longest_retry = milliseconds(100)};
  Told told_;
};

TEST_F(RelayDestinationTest, TellsOfEveryLine) {
  Open();
  const KnownLines lines = SomeOfEverything(0, 600);
  const auto destination = MakeDestination();
  EXPECT_EQ(destination->Describe(), "the relay at " + url() + " (process 12)");
  for (Chunk& chunk : ChunksOf(lines.text, 20'000)) ASSERT_TRUE(destination->Push(std::move(chunk)));
  const Status status = destination->Finish();
  EXPECT_TRUE(status.ok()) << status.message();
  told_.Expect(lines);
  EXPECT_EQ(Stored(), Lines(lines.stored));
}

TEST_F(RelayDestinationTest, FinishesWithoutAnyLine) {
  Open();
  EXPECT_TRUE(MakeDestination()->Finish().ok());
}

TEST_F(RelayDestinationTest, KeepsInputsApart) {
  Open();
  const std::string mark = "\xef\xbb\xbf";
  const auto destination = MakeDestination();
  // No line feed at the end, a byte order mark at the start; elsewhere these bytes are no such mark.
  const std::vector<std::string> inputs = {mark + NoteLine(1), mark + NoteLine(2) + "\n\n" + NoteLine(3),
                                           mark + mark + NoteLine(4), mark, NoteLine(5)};
  for (uint32_t i = 0; i < inputs.size(); ++i)
    for (Chunk& chunk : ChunksOf(inputs[i], 100, i)) ASSERT_TRUE(destination->Push(std::move(chunk)));
  EXPECT_TRUE(destination->Finish().ok());
  EXPECT_EQ(Stored(), NoteLine(1) + "\n" + NoteLine(2) + "\n" + NoteLine(3) + "\n" + NoteLine(5) + "\n");
}

TEST_F(RelayDestinationTest, AMarkThatIsNotAtTheBeginOfItsInputIsNoMark) {
  Open();
  const std::string line = "\xef\xbb\xbf" + NoteLine(1) + "\n";
  const auto destination = MakeDestination();
  std::vector<Chunk> chunks = ChunksOf("\n" + line, 1);
  ASSERT_EQ(chunks.size(), 2);
  // Begins as after an interruption: everything before is settled.
  ASSERT_TRUE(destination->Push(std::move(chunks[1])));
  EXPECT_TRUE(destination->Finish().ok());
  KnownLines expected;
  expected.text = line;
  expected.tally[LineOutcome::kInvalid] = 1;
  expected.rejects = {{2, LineOutcome::kInvalid}};
  expected.rejected_texts = {line.substr(0, line.size() - 1)};
  told_.Expect(expected);
}

TEST_F(RelayDestinationTest, WaitsForARelayThatIsNotThere) {
  Open();
  Close();
  const KnownLines lines = SomeOfEverything(0, 100);
  const auto destination = MakeDestination();
  for (Chunk& chunk : ChunksOf(lines.text, 20'000)) ASSERT_TRUE(destination->Push(std::move(chunk)));
  WaitForProblem(*destination, "the relay at " + url() + " does not answer: ");
  Open();
  EXPECT_TRUE(destination->Finish().ok());
  EXPECT_EQ(destination->Conditions().problem, "");
  told_.Expect(lines);
  EXPECT_EQ(Stored(), Lines(lines.stored));
}

TEST_F(RelayDestinationTest, GoesOnWithTheNextRelayAfterOneWentDown) {
  const KnownLines lines = SomeOfEverything(0, 1500);
  std::vector<Chunk> chunks = ChunksOf(lines.text, 20'000);
  const auto destination = [&] {
    Open();
    return MakeDestination();
  }();
  size_t pushed = 0;
  for (const size_t stop_at : {chunks.size() / 4, chunks.size() / 2, chunks.size() * 3 / 4}) {
    for (; pushed < stop_at; ++pushed) ASSERT_TRUE(destination->Push(std::move(chunks[pushed])));
    told_.WaitForText(chunks[stop_at / 2].begin.bytes);
    WaitForNoProblem(*destination);  // the one of the round before
    Close();
    // All that was sent may be settled, so only lines that are not can show that the relay is gone.
    bool sends = false;
    while (!sends) {
      sends = chunks[pushed].kind == Chunk::Kind::kLines;
      ASSERT_TRUE(destination->Push(std::move(chunks[pushed++])));
    }
    WaitForProblem(*destination, "the relay at " + url());
    Open();
  }
  for (; pushed < chunks.size(); ++pushed) ASSERT_TRUE(destination->Push(std::move(chunks[pushed])));
  const Status status = destination->Finish();
  EXPECT_TRUE(status.ok()) << status.message();
  told_.Expect(lines, true);
  EXPECT_EQ(Stored(), Lines(lines.stored));
}

// A server that is no relay of this version must not be taken for one.
TEST_F(RelayDestinationTest, AnAnswerForOtherLinesSettlesNothing) {
  const std::string text = NoteLine(1) + "\n" + NoteLine(2) + "\n";
  Chunk chunk{.text = text, .end = {.bytes = text.size(), .lines = 2}};
  ImportProgress done{.done = true, .lines = 1, .tally = {}, .conditions = {}};
  done.tally[LineOutcome::kImported] = 1;
  EXPECT_FALSE(Settle(&chunk, done, {}).ok());
  done.lines = 2;
  EXPECT_FALSE(Settle(&chunk, done, {}).ok());
  done.tally[LineOutcome::kInvalid] = 1;
  EXPECT_FALSE(Settle(&chunk, done, {}).ok()) << "the reject is not named";
  EXPECT_FALSE(Settle(&chunk, done, {{.line = 3}}).ok());
  EXPECT_FALSE(Settle(&chunk, done, {{.line = 0}}).ok());
  EXPECT_EQ(chunk.text, text);
  EXPECT_TRUE(Settle(&chunk, done, {{.line = 2}}).ok());
}

// Each relay that is started has another token.
TEST_F(RelayDestinationTest, ShowsTheTokenOfTheRelayThatIsThere) {
  configuration_.relay.admin_from_loopback = AdminFromLoopback::kFalse;
  Open();
  const auto destination = MakeDestination();
  const KnownLines lines = SomeOfEverything(0, 400);
  std::vector<Chunk> chunks = ChunksOf(lines.text, 20'000);
  size_t pushed = 0;
  for (; pushed < chunks.size() / 2; ++pushed) ASSERT_TRUE(destination->Push(std::move(chunks[pushed])));
  told_.WaitForText(1);
  const std::string first = ReadAdminToken(configuration_.data_dir);
  Close();
  ASSERT_EQ(chunks[pushed].kind, Chunk::Kind::kLines);
  ASSERT_TRUE(destination->Push(std::move(chunks[pushed++])));
  WaitForProblem(*destination, "the relay at " + url());
  Open();
  EXPECT_NE(ReadAdminToken(configuration_.data_dir), first);
  for (; pushed < chunks.size(); ++pushed) ASSERT_TRUE(destination->Push(std::move(chunks[pushed])));
  const Status status = destination->Finish();
  EXPECT_TRUE(status.ok()) << status.message();
  told_.Expect(lines, true);
}

TEST_F(RelayDestinationTest, ARefusalEndsTheImport) {
  configuration_.relay.admin_from_loopback = AdminFromLoopback::kFalse;
  Open();
  std::filesystem::remove(AdminTokenPath(configuration_.data_dir));
  const auto destination = MakeDestination();
  for (Chunk& chunk : ChunksOf(SomeOfEverything(0, 100).text, 10'000)) destination->Push(std::move(chunk));
  const Status status = destination->Finish();
  EXPECT_TRUE(status.message().starts_with("the relay at " + url() + " (process 12) refuses (HTTP 4"))
      << status.message();
  EXPECT_FALSE(destination->Push({}));
}

TEST_F(RelayDestinationTest, StopsWhileItWaits) {
  Open();
  Close();
  const auto destination = MakeDestination();
  ASSERT_TRUE(destination->Push(std::move(ChunksOf(NoteLine(1), 100)[0])));
  std::thread stopper([&] { destination->Stop(); });
  EXPECT_EQ(destination->Finish().message(), "stopped");
  stopper.join();
  EXPECT_FALSE(destination->Push({}));
}

TEST_F(RelayDestinationTest, HoldsNoMoreThanItsWindow) {
  Open();
  Close();
  const auto destination = MakeDestination();
  std::atomic<size_t> pushed{0};
  std::thread pusher([&] {
    const std::string text(1 << 20, '\n');
    while (destination->Push(Chunk{.text = text, .end = {.bytes = text.size(), .lines = 1}})) ++pushed;
  });
  WaitForProblem(*destination, "does not answer");
  EXPECT_TRUE(Eventually([&] { return pushed >= 15; })) << pushed;
  destination->Stop();
  pusher.join();
  EXPECT_LE(pushed, 17);
}

TEST_F(RelayDestinationTest, TakesAddressesOfRelaysOnly) {
  for (const char* const url :
       {"127.0.0.1:3334", "https://127.0.0.1", "http://", "http://a:b", "http://a/b", "http://a:0"})
    EXPECT_FALSE(OpenRelayDestination({.url = url}, {}, [](SettledChunk) {}).ok()) << url;
  for (const char* const url : {"http://127.0.0.1:3334", "http://localhost/", "http://[::1]:3334"})
    EXPECT_TRUE(OpenRelayDestination({.url = url}, {}, [](SettledChunk) {}).ok()) << url;
}

// However the chunks are joined, the rejects are exact by line, and every line is in the tally of its part.
RC_GTEST_PROP(RelayPartTest, TalliesAndRejectsAreExact, ()) {
  std::mt19937 random(*rc::gen::arbitrary<uint32_t>());
  const auto below = [&random](size_t end) { return random() % end; };
  std::vector<size_t> outcomes(1 + below(40));
  for (size_t& outcome : outcomes) outcome = below(3);
  std::string text;
  for (size_t i = 0; i < outcomes.size(); ++i) text += std::to_string(i) + "\n";
  if (below(2) == 0) text.pop_back();
  std::vector<Chunk> parts;
  for (Chunk& chunk : ChunksOf(text, 1 + below(20)))
    if (parts.empty() || below(2) == 0 || !Join(chunk, &parts.back())) parts.push_back(std::move(chunk));
  size_t line = 0;
  for (Chunk& part : parts) {
    RC_ASSERT(part.begin.lines == line);
    ImportProgress done{.done = true, .lines = part.end.lines - line, .tally = {}, .conditions = {}};
    std::vector<ImportReject> rejects;
    std::vector<std::string> rejected;
    for (uint64_t i = 1; i <= done.lines; ++i, ++line) {
      const size_t outcome = outcomes[line];
      ++done.tally[outcome == 0   ? LineOutcome::kImported
                   : outcome == 1 ? LineOutcome::kDuplicate
                                  : LineOutcome::kInvalid];
      if (outcome != 2) continue;
      rejects.push_back({.line = i, .outcome = LineOutcome::kInvalid, .reason = "no"});
      rejected.push_back(std::to_string(line));
    }
    const auto settled = Settle(&part, done, rejects);
    RC_ASSERT(settled.ok());
    RC_ASSERT(settled.value().tally.lines == done.tally.lines);
    RC_ASSERT(settled.value().rejects.size() == rejected.size());
    for (size_t i = 0; i < rejected.size(); ++i) {
      const Reject& told = settled.value().rejects[i];
      RC_ASSERT(std::to_string(told.line - 1) == rejected[i]);
      RC_ASSERT(settled.value().chunk.text.substr(told.begin, told.size) == rejected[i]);
    }
  }
  RC_ASSERT(line == outcomes.size());
}

}  // namespace
}  // namespace weir
