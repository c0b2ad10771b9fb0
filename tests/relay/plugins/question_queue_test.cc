#include "relay/plugins/question_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace weir {
namespace {

class QuestionQueueTest : public testing::Test {
 protected:
  // Adds a question that was asked at this second.
  void Push(const std::string& id, uint64_t address, int second = 0, size_t bytes = 100) {
    queue_.Push({.question = {.id = id, .line = std::string(bytes, 'x'), .address = address},
                 .settled = [this, id](const PluginVerdict&) { failed_ += id; },
                 .asked = At(second)});
  }
  static TimePoint At(int second) { return TimePoint{std::chrono::hours(1) + std::chrono::seconds(second)}; }
  std::string PopAll() {
    std::string popped;
    while (!queue_.empty()) popped += queue_.Pop().question.id;
    return popped;
  }
  std::string Fail(TimePoint until) {
    for (const OnPluginVerdict& settled : queue_.TakeAskedUntil(until)) settled({});
    return std::exchange(failed_, "");
  }

  QuestionQueue queue_;
  std::string failed_;
};

TEST_F(QuestionQueueTest, AddressesTakeTurns) {
  for (const char* id : {"a", "b", "c", "d"}) Push(id, 1);
  Push("x", 2);
  Push("y", 3);
  EXPECT_EQ(PopAll(), "axybcd");
  EXPECT_EQ(queue_.addresses(), 0U);
}

TEST_F(QuestionQueueTest, AnAddressWithLongQuestionsWaitsLonger) {
  for (const char* id : {"A", "B"}) Push(id, 1, 0, 300);
  for (const char* id : {"a", "b", "c", "d", "e", "f"}) Push(id, 2);
  EXPECT_EQ(PopAll(), "abAcdeBf");
}

TEST_F(QuestionQueueTest, AQuestionThatComesBackIsBeforeYoungerOnes) {
  Push("b", 1, 1);
  Push("c", 1, 2);
  Push("a", 1, 0);
  EXPECT_EQ(PopAll(), "abc");
}

TEST_F(QuestionQueueTest, FindsTheOverdueQuestionsOfAllAddresses) {
  Push("a", 1, 1);
  Push("b", 1, 5);
  Push("c", 2, 2);
  Push("d", 3, 6);
  EXPECT_EQ(queue_.oldest(), At(1));
  EXPECT_EQ(Fail(At(0)), "");
  const std::string first = Fail(At(2));
  EXPECT_TRUE(first == "ac" || first == "ca") << first;
  EXPECT_EQ(queue_.oldest(), At(5));
  EXPECT_EQ(Fail(TimePoint::max()).size(), 2U);
  EXPECT_EQ(queue_.oldest(), TimePoint::max());
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(queue_.addresses(), 0U);
}

TEST_F(QuestionQueueTest, AnEmptyQueueHasNoOldestQuestion) {
  Push("a", 1, 1);
  Push("b", 1, 2);
  EXPECT_EQ(queue_.Pop().question.id, "a");
  EXPECT_LE(queue_.oldest(), At(2));
  EXPECT_EQ(queue_.Pop().question.id, "b");
  EXPECT_EQ(queue_.oldest(), TimePoint::max());
}

TEST_F(QuestionQueueTest, ForgetsAddressesThatAreNeverServed) {
  for (uint64_t address = 1; address <= 1000; ++address) {
    Push("a", address);
    EXPECT_EQ(Fail(TimePoint::max()), "a");
  }
  EXPECT_EQ(queue_.addresses(), 0U);
}

}  // namespace
}  // namespace weir
