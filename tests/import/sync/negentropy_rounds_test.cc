#include "import/sync/negentropy_rounds.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "config/text/hex.h"
#include "tests/fixtures/plain_event.h"

namespace weir {
namespace {

using Kind = RelayMessage::Kind;

SyncItem ItemOf(uint64_t number) { return {.created_at = 1000 + number / 3, .id = ToBytes(Author(number))}; }

void Fill(const std::set<SyncItem>& items, SyncSet* set) {
  for (const SyncItem& item : items) set->Add(item);
  set->Seal();
}

// Answers as a relay with this set does.
std::string AnswerOf(const SyncSet& set, const std::string& hex) {
  std::string bytes(hex.size() / 2, '\0');
  EXPECT_TRUE(FromHex(hex, reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()));
  Reconciler reconciler(set, bytes, 8000);
  while (!reconciler.Next(kTurnWork).value()) continue;
  return ToHex(reconciler.Take());
}

class NegentropyRoundsTest : public testing::Test {
 protected:
  Result<bool> Hear(Kind kind, const std::string& text, const std::string& subject = "sync") {
    return rounds_.OnMessage({.kind = kind, .subject = subject, .text = text});
  }
  Status Answer() { return rounds_.Answer(say_, &found_); }
  void Begin() {
    own_.Seal();
    EXPECT_TRUE(rounds_.Begin(Filter{}, say_).ok());
  }

  std::vector<std::string> said_;
  const NegentropyRounds::Say say_ = [this](std::string_view message) {
    said_.emplace_back(message);
    return Status();
  };
  SyncSet own_;
  SyncDifferences found_;
  NegentropyRounds rounds_{own_};
};

RC_GTEST_PROP(NegentropyRoundsProperty, FindEveryDifference, ()) {
  std::set<SyncItem> here, there;
  std::set<EventId> only_here, only_there;
  const uint64_t count = *rc::gen::inRange<uint64_t>(0, 3000);
  for (uint64_t n = 0; n < count; ++n) {
    const SyncItem item = ItemOf(n);
    const int side = *rc::gen::weightedElement<int>({{30, 2}, {1, 0}, {1, 1}});
    if (side != 0) there.insert(item);
    if (side != 1) here.insert(item);
    if (side == 0) only_here.insert(item.id);
    if (side == 1) only_there.insert(item.id);
  }
  SyncSet own, others;
  Fill(here, &own);
  Fill(there, &others);
  NegentropyRounds rounds(own);
  SyncDifferences found;
  std::vector<std::string> said;
  const NegentropyRounds::Say say = [&](std::string_view message) {
    said.emplace_back(message);
    return Status();
  };
  RC_ASSERT(rounds.Begin(Filter{}, say).ok());
  RC_ASSERT(said[0].starts_with(R"(["NEG-OPEN","sync",{},")"));
  while (!rounds.is_done()) {
    const std::string& message = said.back();
    const size_t end = message.rfind('"');
    const size_t begin = message.rfind('"', end - 1) + 1;
    const std::string answer = AnswerOf(others, message.substr(begin, end - begin));
    RC_ASSERT(rounds.OnMessage({.kind = Kind::kNegMsg, .subject = "sync", .text = answer}).value());
    RC_ASSERT(rounds.Answer(say, &found).ok());
    RC_ASSERT(rounds.rounds() < 1000U);
  }
  RC_ASSERT(said.back() == R"(["NEG-CLOSE","sync"])");
  RC_ASSERT(std::set<EventId>(found.have.begin(), found.have.end()) == only_here);
  RC_ASSERT(std::set<EventId>(found.need.begin(), found.need.end()) == only_there);
}

TEST_F(NegentropyRoundsTest, TakeARefusalForOneOnlyBeforeTheFirstAnswer) {
  Begin();
  EXPECT_FALSE(Hear(Kind::kNotice, "welcome", "").value());
  EXPECT_EQ(rounds_.refusal(), "");
  EXPECT_TRUE(Hear(Kind::kNotice, "unknown message NEG-OPEN", "").value());
  EXPECT_EQ(rounds_.refusal(), "unknown message NEG-OPEN");
  EXPECT_TRUE(Hear(Kind::kNegErr, "blocked: too big").value());
  EXPECT_EQ(rounds_.refusal(), "blocked: too big");
  EXPECT_FALSE(Hear(Kind::kNegErr, "blocked: too big", "other").value());
}

TEST_F(NegentropyRoundsTest, TakeAnotherVersionForARefusal) {
  Begin();
  EXPECT_TRUE(Hear(Kind::kNegMsg, "60").value());
  EXPECT_EQ(rounds_.refusal(), "it speaks another version of negentropy");
}

TEST_F(NegentropyRoundsTest, EndWithAnErrorInTheMiddle) {
  Begin();
  EXPECT_TRUE(Hear(Kind::kNegMsg, "61").value());
  EXPECT_EQ(Hear(Kind::kNegErr, "closed: too slow").status().message(),
            "the relay ends the comparison: closed: too slow");
}

TEST_F(NegentropyRoundsTest, RefuseMessagesThatAreWrong) {
  Begin();
  EXPECT_FALSE(Hear(Kind::kNegMsg, "610g").ok());
  EXPECT_FALSE(Hear(Kind::kNegMsg, "616").ok()) << "half a byte";
  for (const char* hex : {"61000002ff", "ff", "", "6100000299"}) {
    EXPECT_TRUE(Hear(Kind::kNegMsg, hex).value());
    EXPECT_FALSE(Answer().ok()) << hex;
  }
}

}  // namespace
}  // namespace weir
