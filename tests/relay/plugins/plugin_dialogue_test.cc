#include "relay/plugins/plugin_dialogue.h"

#include <gtest/gtest.h>

#include <array>
#include <new>

#include "config/manual_clock.h"

namespace weir {
namespace {

class PluginDialogueTest : public testing::Test {
 protected:
  void Ask(const std::string& id, const std::string& line = "line\n") {
    dialogue_.Ask({.question = {.id = id, .line = line},
                   .settled =
                       [this, id, n = ++asked_](const PluginVerdict& v) {
                         settled_ += std::to_string(n) + id + (v.action == PluginAction::kAccept ? "+ " : "- ");
                       },
                   .asked = clock_.Now()});
  }
  // Takes the bytes that are to be written next, at most `most`.
  std::string Write(size_t most = SIZE_MAX) {
    std::array<iovec, 4> pieces{};
    std::string text;
    const size_t count = dialogue_.NextOutput(pieces);
    for (size_t i = 0; i < count; ++i) text.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
    text.resize(std::min(most, text.size()));
    dialogue_.NoteWritten(text.size());
    return text;
  }
  void Hear(const std::string& bytes) { dialogue_.Hear(bytes, clock_.Now()); }
  void Answer(const std::string& id, const std::string& action = "accept") {
    Hear(R"({"id":")" + id + R"(","action":")" + action + "\"}\n");
  }
  uint64_t faults(PluginFault fault) const { return health_.Stats().faults[static_cast<size_t>(fault)]; }

  ManualClock clock_{TimePoint{std::chrono::hours(1)}};
  PluginHealth health_{"write plugin", clock_};
  PluginDialogue dialogue_{health_};
  int asked_ = 0;
  std::string settled_;
};

TEST_F(PluginDialogueTest, AnswersMayComeInAnyOrder) {
  for (const char* id : {"a", "b", "c"}) Ask(id);
  EXPECT_EQ(Write(), "line\nline\nline\n");
  Answer("c");
  Answer("a", "reject");
  Answer("b");
  EXPECT_EQ(settled_, "3c+ 1a- 2b+ ");
  EXPECT_EQ(dialogue_.owed(), 0U);
  EXPECT_EQ(health_.Stats().answers[0], 2U);
}

TEST_F(PluginDialogueTest, QuestionsWithOneIdAreAnsweredInTheirOrder) {
  for (const char* id : {"a", "a", "a"}) Ask(id);
  Write();
  Answer("a");
  Answer("a", "reject");
  EXPECT_EQ(settled_, "1a+ 2a- ");
  EXPECT_EQ(dialogue_.owed(), 1U);
}

TEST_F(PluginDialogueTest, WritesGoOnWhereThePipeWasFull) {
  Ask("a", "0123456789\n");
  Ask("b", "abc\n");
  EXPECT_EQ(Write(4), "0123");
  EXPECT_EQ(Write(9), "456789\nab");
  EXPECT_TRUE(dialogue_.has_output());
  EXPECT_EQ(Write(), "c\n");
  EXPECT_FALSE(dialogue_.has_output());
}

TEST_F(PluginDialogueTest, AnAnswerComesInPieces) {
  Ask("a");
  Write();
  for (const char c : std::string("\r\n\n{\"id\":\"a\",\"action\":\"accept\"}\r\n")) Hear(std::string(1, c));
  EXPECT_EQ(settled_, "1a+ ");
  EXPECT_EQ(faults(PluginFault::kGarbage), 0U);
}

TEST_F(PluginDialogueTest, CountsAnswersThatNoQuestionHas) {
  Ask("a");
  Answer("a");
  EXPECT_EQ(settled_, "") << "it was answered before it was asked";
  Write();
  Answer("b");
  Answer("a");
  Answer("a");
  EXPECT_EQ(settled_, "1a+ ");
  EXPECT_EQ(faults(PluginFault::kUnasked), 3U);
}

TEST_F(PluginDialogueTest, GarbageDoesNotHideTheNextAnswer) {
  Ask("a");
  Write();
  Hear("Traceback (most recent call last)\n");
  Hear(std::string(PluginDialogue::kMostLine, 'x'));
  Hear(std::string(PluginDialogue::kMostLine, 'x'));
  Hear("the end of the long line\n");
  Answer("a");
  EXPECT_EQ(settled_, "1a+ ");
  EXPECT_EQ(faults(PluginFault::kGarbage), 2U);
}

TEST_F(PluginDialogueTest, AnOverdueQuestionIsForgottenButForItsId) {
  Ask("a");
  Write();
  clock_.Advance(std::chrono::seconds(3));
  Ask("b");
  Write();
  EXPECT_EQ(dialogue_.TakeAskedUntil(clock_.Now() - std::chrono::seconds(1)).size(), 1U);
  EXPECT_EQ(dialogue_.oldest(), clock_.Now());
  EXPECT_EQ(dialogue_.overdue(), 1U);
  Answer("a");
  Answer("b");
  EXPECT_EQ(settled_, "2b+ ");
  EXPECT_EQ(faults(PluginFault::kUnasked), 0U);
  EXPECT_EQ(dialogue_.overdue(), 0U);
}

TEST_F(PluginDialogueTest, AnOlderQuestionThatWaitedLongerIsOverdueFirst) {
  const TimePoint begin = clock_.Now();
  clock_.Advance(std::chrono::seconds(3));
  Ask("young");
  Write();
  clock_.Set(begin);
  Ask("old");
  EXPECT_EQ(dialogue_.oldest(), begin);
  EXPECT_EQ(dialogue_.TakeAskedUntil(begin).size(), 1U);
  EXPECT_EQ(dialogue_.owed(), 1U) << "the old question was not written yet";
  EXPECT_EQ(dialogue_.oldest(), begin + std::chrono::seconds(3));
}

TEST_F(PluginDialogueTest, ALostAnswerDoesNotTakeThatOfTheNextQuestionWithItsId) {
  Ask("a");
  Write();
  EXPECT_EQ(dialogue_.TakeAskedUntil(clock_.Now()).size(), 1U);
  clock_.Advance(std::chrono::seconds(3));
  Ask("a", "again\n");
  EXPECT_EQ(Write(), "again\n");
  Answer("a");
  EXPECT_EQ(settled_, "2a+ ");
  EXPECT_EQ(dialogue_.owed(), 1U);
  Answer("a");
  EXPECT_EQ(dialogue_.owed(), 0U);
  EXPECT_EQ(faults(PluginFault::kUnasked), 0U);
}

TEST_F(PluginDialogueTest, ACallbackThatThrowsHoldsBackNoOther) {
  dialogue_.Ask({.question = {.id = "a", .line = "line\n"},
                 .settled = [](const PluginVerdict&) { throw std::bad_alloc(); },
                 .asked = clock_.Now()});
  Ask("b");
  Write();
  Hear("{\"id\":\"a\",\"action\":\"accept\"}\n{\"id\":\"b\",\"action\":\"accept\"}\n");
  EXPECT_EQ(settled_, "1b+ ");
}

TEST_F(PluginDialogueTest, AnOverdueQuestionThatIsNotBegunIsNotWritten) {
  Ask("a", "first\n");
  Ask("b", "second\n");
  Write(2);
  EXPECT_EQ(dialogue_.TakeAskedUntil(clock_.Now()).size(), 2U);
  EXPECT_EQ(dialogue_.owed(), 1U);
  Ask("c", "third\n");
  EXPECT_EQ(Write(), "rst\nthird\n");
}

TEST_F(PluginDialogueTest, AtTheEndUnsentQuestionsCanBeAskedElsewhere) {
  for (const char* id : {"a", "b", "a"}) Ask(id, std::string(id) + "?\n");
  Write(4);
  const std::vector<PendingQuestion> unsent = dialogue_.TakeUnsent();
  ASSERT_EQ(unsent.size(), 1U);
  EXPECT_EQ(unsent[0].question.line, "a?\n");
  unsent[0].settled({.action = PluginAction::kAccept});
  EXPECT_EQ(settled_, "3a+ ");
  EXPECT_EQ(dialogue_.TakeAll().size(), 2U);
  EXPECT_EQ(dialogue_.owed(), 0U);
  EXPECT_FALSE(dialogue_.has_output());
}

TEST_F(PluginDialogueTest, ASilentProcessIsKnownByItsLastAnswer) {
  EXPECT_EQ(dialogue_.silent_since(), TimePoint::max());
  Ask("a");
  const TimePoint first = clock_.Now();
  Write();
  clock_.Advance(std::chrono::seconds(3));
  Ask("b");
  Write();
  Hear("no answer\n");
  EXPECT_EQ(dialogue_.silent_since(), first);
  Answer("b");
  EXPECT_EQ(dialogue_.silent_since(), clock_.Now());
}

}  // namespace
}  // namespace weir
