#include "import/line_judge.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "import/input/line_splitter.h"
#include "tests/import/signed_events.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

using Outcomes = std::vector<LineOutcome>;

class LineJudgeTest : public testing::Test {
 protected:
  JudgedChunk Judge(const std::string& text, uint64_t begin_bytes = 0, const JudgeOptions& options = {}) {
    Chunk chunk{.text = text, .begin = {.bytes = begin_bytes, .lines = 10}};
    return LineJudge(options, store_, clock_).Judge(std::move(chunk));
  }

  ManualWallClock clock_{kLineTime + 100};
  const EventStore* store_ = nullptr;
};

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

// Changes the signature into another one of the same form.
std::string Forged(std::string line) {
  char& digit = line[line.find("\"sig\":\"") + 20];
  digit = digit == '0' ? '1' : '0';
  return line;
}

TEST_F(LineJudgeTest, JudgesEachKindOfLine) {
  struct Case {
    std::string line;
    LineOutcome outcome;
    std::string reason;
  };
  const std::string now = std::to_string(kLineTime + 100);
  const std::vector<Case> cases = {
      {NoteLine(1), LineOutcome::kImported, ""},
      {"  " + NoteLine(1) + "  ", LineOutcome::kImported, ""},
      {NoteLine(1, 1, "[]", kLineTime + 1000), LineOutcome::kImported, ""},
      {NoteLine(1, 1, "[]", kLineTime + 1001), LineOutcome::kFuture,
       "created_at is 901 s in the future; 900 s are allowed"},
      {NoteLine(1, 1, "[[\"expiration\",\"" + now + "\"]]"), LineOutcome::kExpired, ""},
      {NoteLine(1, 1, "[[\"expiration\",\"1700000101\"]]"), LineOutcome::kImported, ""},
      {NoteLine(1, 20001), LineOutcome::kNotStored, "events of kind 20001 are ephemeral, not stored"},
      {NoteLine(1, 22242), LineOutcome::kNotStored, "events of kind 22242 (AUTH) are not stored"},
      {NoteLine(1, 1, "[[\"-\"]]"), LineOutcome::kImported, ""},
      {Forged(NoteLine(1)), LineOutcome::kSignature, "the signature is not its author's"},
      {"", LineOutcome::kBlank, ""},
      {" \t ", LineOutcome::kBlank, ""},
      {"{}", LineOutcome::kInvalid, ""},
      {"x", LineOutcome::kInvalid, ""},
      {std::string(1, '\0'), LineOutcome::kInvalid, ""},
      {NoteLine(1) + std::string(1, '\0'), LineOutcome::kInvalid, ""},
      {NoteLine(1) + NoteLine(2), LineOutcome::kInvalid, ""},
      {"[\"EVENT\"," + NoteLine(1) + "]", LineOutcome::kInvalid, ""},
      {Replaced(NoteLine(1), "note 1", "note 2"), LineOutcome::kInvalid, ""},
      {"\xff\xfe", LineOutcome::kInvalid, "an event must be valid UTF-8"},
      {"\xef\xbb\xbf" + NoteLine(1), LineOutcome::kInvalid, ""},  // a byte order mark in the middle of an input
  };
  for (const Case& c : cases) {
    for (const std::string end : {"\n", "\r\n", ""}) {
      SCOPED_TRACE(c.line + end);
      const JudgedChunk judged = Judge(c.line + end, 5);
      if (c.line.empty() && end.empty()) continue;
      const bool good = c.outcome == LineOutcome::kImported;
      EXPECT_EQ(judged.events.size(), good ? 1U : 0U);
      EXPECT_EQ(judged.settled.tally.read(), good ? 0U : 1U);
      EXPECT_EQ(judged.settled.tally[c.outcome], good ? 0U : 1U);
      EXPECT_EQ(judged.settled.tally.bytes, c.line.size() + end.size());
      ASSERT_EQ(judged.settled.rejects.size(), IsRejected(c.outcome) ? 1U : 0U);
      if (!IsRejected(c.outcome)) continue;
      const Reject& reject = judged.settled.rejects[0];
      EXPECT_EQ(reject.outcome, c.outcome);
      EXPECT_EQ(reject.line, 11U);
      EXPECT_FALSE(reject.reason.empty());
      EXPECT_EQ(reject.reason.find_first_of("\n\r\t"), std::string::npos) << reject.reason;
      EXPECT_TRUE(c.reason.empty() || reject.reason == c.reason) << reject.reason;
      EXPECT_EQ(judged.settled.chunk.text.substr(reject.begin, reject.size), c.line + (end == "\r\n" ? "\r" : ""));
    }
  }
}

TEST_F(LineJudgeTest, GivesEventsAndRejectsInTheOrderOfTheLines) {
  const std::string text = NoteLine(1) + "\n\nrubbish\r\n" + NoteLine(2) + "\r\nmore\n" + NoteLine(3);
  const JudgedChunk judged = Judge(text);
  ASSERT_EQ(judged.events.size(), 3U);
  EXPECT_EQ(judged.events[0].view().json(), NoteLine(1));
  EXPECT_EQ(judged.events[2].view().json(), NoteLine(3));
  ASSERT_EQ(judged.settled.rejects.size(), 2U);
  EXPECT_EQ(judged.settled.rejects[0].line, 13U);
  EXPECT_EQ(judged.settled.rejects[1].line, 15U);
  EXPECT_EQ(text.substr(judged.settled.rejects[1].begin, judged.settled.rejects[1].size), "more");
  EXPECT_EQ(judged.settled.chunk.text, text);
}

TEST_F(LineJudgeTest, PassesOverAByteOrderMarkAtTheVeryBegin) {
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_EQ(Judge(mark + NoteLine(1) + "\n").events.size(), 1U);
  EXPECT_EQ(Judge(mark).settled.tally[LineOutcome::kBlank], 1U);
  EXPECT_EQ(Judge(mark + "\n").settled.tally[LineOutcome::kBlank], 1U);
  EXPECT_EQ(Judge(mark + "\n").settled.tally.read(), 1U);
  EXPECT_EQ(Judge(mark + NoteLine(1) + "\n", 100).settled.rejects.size(), 1U);
}

TEST_F(LineJudgeTest, DoesNotVerifyWhereItIsToldNotTo) {
  EXPECT_EQ(Judge(Forged(NoteLine(1)), 0, {.verify = false}).events.size(), 1U);
}

TEST_F(LineJudgeTest, RefusesWhatIsLargerThanTheRelayTakes) {
  JudgeOptions options;
  options.limits.max_bytes = 300;
  const JudgedChunk judged = Judge(NoteLine(1), 0, options);
  EXPECT_EQ(judged.settled.tally[LineOutcome::kInvalid], 1U);
}

// Many programs write what is not ASCII as escapes. These count as part of the event's size, whatever they stand for.
TEST_F(LineJudgeTest, TakesEscapedEventsUpToTheLimitAndSaysWhatIsBeyond) {
  std::string letters;
  std::string escapes;
  for (int i = 0; i < 20'000; ++i) {
    letters += "\xc3\xa4";
    escapes += "\\u00e4";
  }
  const std::string line = Replaced(Signer(7).SignedEvent(kLineTime, 1, "[]", letters), letters, escapes);
  const auto judge = [&](size_t max_bytes, const std::string& text) {
    JudgeOptions options;
    options.limits = {.max_bytes = max_bytes};
    std::vector<Chunk> chunks;
    LineSplitter splitter({.max_line_bytes = MaxLineBytes(options.limits)}, 0);
    splitter.Add(text, 0, [&](Chunk chunk) { chunks.push_back(std::move(chunk)); });
    splitter.End([&](Chunk chunk) { chunks.push_back(std::move(chunk)); });
    return LineJudge(options, nullptr, clock_).Judge(chunks.at(0));
  };
  const std::string size = std::to_string(line.size());
  EXPECT_EQ(judge(line.size(), line).events.size(), 1U);
  const std::string blanks(line.size() + (64 << 10), ' ');
  EXPECT_EQ(judge(line.size(), line + blanks).events.size(), 1U);

  const JudgedChunk larger = judge(line.size() - 1, line);
  ASSERT_EQ(larger.settled.rejects.size(), 1U);
  EXPECT_EQ(larger.settled.rejects[0].outcome, LineOutcome::kInvalid);
  EXPECT_EQ(larger.settled.rejects[0].reason,
            "an event must be at most " + std::to_string(line.size() - 1) + " bytes long, not " + size);
  const JudgedChunk longer = judge(line.size(), line + blanks + " ");
  ASSERT_EQ(longer.settled.rejects.size(), 1U);
  EXPECT_EQ(longer.settled.rejects[0].outcome, LineOutcome::kTooLong);
  EXPECT_EQ(longer.settled.rejects[0].reason, "the line has more than " + std::to_string(line.size() + blanks.size()) +
                                                  " bytes; an event may have at most " + size);
}

// The stored event is forged here, which shows whether a signature was verified.
TEST_F(LineJudgeTest, DoesNotVerifyTheSignatureThatIsStoredAlready) {
  const TempDirectory directory;
  const std::unique_ptr<RocksDbStore> store = MustOpen(SmallStore(directory / "events"));
  const std::vector<Event> events = Judge(Forged(NoteLine(1)) + "\n" + NoteLine(2), 0, {.verify = false}).events;
  std::vector<SaveResult> results(2);
  ASSERT_TRUE(store->Save(events, 0, results).ok());
  store_ = store.get();
  const JudgedChunk judged = Judge(Forged(NoteLine(1)) + "\n" + Forged(NoteLine(2)) + "\n" + NoteLine(1));
  EXPECT_EQ(judged.settled.tally[LineOutcome::kSignature], 1U);
  ASSERT_EQ(judged.events.size(), 2U);
  EXPECT_EQ(judged.events[0].view().json(), Forged(NoteLine(1)));
  EXPECT_EQ(judged.events[1].view().json(), NoteLine(1));
}

TEST_F(LineJudgeTest, CountsALineThatIsTooLongOnce) {
  LineJudge judge({}, nullptr, clock_);
  Chunk piece{.kind = Chunk::Kind::kTooLong, .last_piece = false, .text = "xxxx", .begin = {.bytes = 9, .lines = 4}};
  const JudgedChunk first = judge.Judge(piece);
  EXPECT_EQ(first.settled.tally[LineOutcome::kTooLong], 1U);
  ASSERT_EQ(first.settled.rejects.size(), 1U);
  EXPECT_EQ(first.settled.rejects[0].line, 5U);
  EXPECT_EQ(first.settled.rejects[0].size, 4U);
  piece.first_piece = false;
  piece.last_piece = true;
  const JudgedChunk last = judge.Judge(piece);
  EXPECT_EQ(last.settled.tally.read(), 0U);
  EXPECT_EQ(last.settled.tally.bytes, 4U);
  EXPECT_TRUE(last.settled.rejects.empty());
}

}  // namespace
}  // namespace weir
