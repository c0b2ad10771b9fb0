// Events of authors of all rungs, with the trust ladder off, observing and on.
#include <algorithm>

#include "relay/account/turns.h"
#include "relay/standing/ladder.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/temp_directory.h"
#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

// The fixture's signer is trusted; keys from kFresh on are strangers. The share is under pressure from the start and
// lets about four notes pass a second, while the write gate is open.
class ClientLadderTest : public ClientTest {
 protected:
  static constexpr uint64_t kFresh = 1000;

  ~ClientLadderTest() override {
    share_->Stop();
    for (Seat& seat : seats_) End(seat);
    RunUntilAllIsGivenBack();
    limiter_->Stop();
    pool_.reset();
    pipeline_->Stop();
  }

  void BuildWith(LadderMode mode, uint64_t most_bytes = 1 << 20) {
    Build();
    standings_ =
        std::make_unique<Standings>(StandingSettings{}, store_, directory_ / "standing", nullptr, clock_, wall_clock_);
    standings_->Open();
    standings_->SetOwnList({signer_.pubkey()});
    for (LimiterView::Write& write : view_.writes)
      write = {.open = false, .bytes_per_second = 1e4, .setpoint = 0.8, .level = 0.8};
    share_ =
        std::make_unique<StrangerShare>([this] { return view_; }, mode == LadderMode::kOn ? most_bytes : 0, clock_);
    ladder_ = std::make_unique<Ladder>(mode, *standings_, *share_);
    context_->ladder = ladder_.get();
    share_->GoOn();
  }

  static std::vector<std::string> NotesOfStrangers(size_t n, uint16_t kind = 1) {
    std::vector<std::string> notes;
    for (uint64_t i = 0; i < n; ++i) notes.push_back(Signer(kFresh + i).SignedEvent(kNow, kind, "[]", "hello"));
    return notes;
  }
  uint64_t Counted(Rung rung, LadderOutcome outcome) const { return ladder_->Counted(rung, outcome); }
  void PassTime(Duration time) {
    for (const TimePoint end = clock_.Now() + time; clock_.Now() < end; clock_.Advance(std::chrono::milliseconds(50)))
      share_->GoOn();
    share_->GoOn();
  }

  const TempDirectory directory_;
  LimiterView view_;
  std::unique_ptr<Standings> standings_;
  std::unique_ptr<StrangerShare> share_;
  std::unique_ptr<Ladder> ladder_;
};

TEST_F(ClientLadderTest, StrangersWaitUnderPressureAndRegularsDoNot) {
  BuildWith(LadderMode::kOn);
  Seat& strangers = Connect("192.0.2.1");
  Seat& regular = Connect("192.0.2.2");
  strangers.Say(Publish(NotesOfStrangers(20)));
  RunUntilIdle();
  EXPECT_LT(strangers->said.size(), 10U);
  EXPECT_GT(share_->Now().held_bytes, 0U);
  const std::string note = Note("still here");
  EXPECT_EQ(Ask(regular, Publish(note)), OkFor(note));
  EXPECT_EQ(Counted(Rung::kTrusted, LadderOutcome::kPassed), 1U);
  PassTime(std::chrono::seconds(5));
  RunUntil([&] { return strangers->said.size() == 20; });
  EXPECT_EQ(share_->Now().held_bytes, 0U);
  EXPECT_GT(Counted(Rung::kStranger, LadderOutcome::kWaited), 5U);
  EXPECT_EQ(Counted(Rung::kStranger, LadderOutcome::kPassed) + Counted(Rung::kStranger, LadderOutcome::kWaited) +
                Counted(Rung::kStranger, LadderOutcome::kRefused),
            20U);
}

TEST_F(ClientLadderTest, AStrangerThatWaitsTooLongIsToldWhenToComeBack) {
  BuildWith(LadderMode::kOn);
  Seat& strangers = Connect();
  strangers.Say(Publish(NotesOfStrangers(60)));
  RunUntilIdle();
  PassTime(std::chrono::seconds(5));
  RunUntil([&] { return strangers->said.size() == 60; });
  size_t refused = 0;
  for (const std::string& answer : strangers->said)
    refused += Has(answer, ",false,\"rate-limited: new keys wait while this relay is busy; try again in ") ? 1 : 0;
  EXPECT_GT(refused, 10U);
  const auto says = [&said = strangers->said](const std::string& text) {
    return std::ranges::any_of(said, [&text](const std::string& answer) { return Has(answer, text); });
  };
  EXPECT_TRUE(says("try again in 4 s"));
  EXPECT_FALSE(says("try again in 5 s")) << "the longest wait is 4 s";
  EXPECT_EQ(Counted(Rung::kStranger, LadderOutcome::kRefused), refused);
}

TEST_F(ClientLadderTest, WithoutRoomAStrangerIsRefusedAtOnce) {
  BuildWith(LadderMode::kOn, /*most_bytes=*/20'000);
  Seat& strangers = Connect();
  strangers.Say(Publish(NotesOfStrangers(40)));
  RunUntilIdle();
  EXPECT_GT(Counted(Rung::kStranger, LadderOutcome::kRefused), 20U);
  EXPECT_GT(share_->Now().waiting, 2U);
  EXPECT_LE(share_->Now().held_bytes, 20'000U);
  const auto& said = strangers->said;
  EXPECT_TRUE(std::ranges::any_of(said, [](const auto& answer) { return Has(answer, "busy; try again in "); }));
}

TEST_F(ClientLadderTest, ARateForLowRungsSparesRegularsEvenIfTheLadderObserves) {
  BuildWith(LadderMode::kObserve);
  RuleSet set;
  set.rates.push_back({.rate = {.events = 1, .per = std::chrono::hours(1)}, .below = Rung::kRegular});
  context_->rules->Use(std::make_shared<Rules>(std::move(set)));
  Seat& seat = Connect();
  for (uint64_t n = 0; n < 3; ++n) {
    const std::string trusted = signer_.SignedEvent(kNow - n, 1, "[]", "note");
    EXPECT_EQ(Ask(seat, Publish(trusted)), OkFor(trusted));
    const std::string strange = Signer(kFresh).SignedEvent(kNow - n, 1, "[]", "note");
    EXPECT_EQ(Has(Ask(seat, Publish(strange)), "rate-limited: at most 1 event of one author"), n > 0);
  }
}

TEST_F(ClientLadderTest, ObservingHoldsNobodyAndCountsWhomItWouldHold) {
  BuildWith(LadderMode::kObserve);
  Seat& strangers = Connect();
  const std::vector<std::string> notes = NotesOfStrangers(20);
  strangers.Say(Publish(notes));
  RunUntil([&] { return strangers->said.size() == notes.size(); });
  EXPECT_EQ(strangers->Count("[\"OK\""), notes.size());
  EXPECT_EQ(Counted(Rung::kStranger, LadderOutcome::kWaited) + Counted(Rung::kStranger, LadderOutcome::kRefused), 0U);
  EXPECT_GT(Counted(Rung::kStranger, LadderOutcome::kWouldWait), 10U);
  EXPECT_EQ(share_->Now().held_bytes, 0U);
}

TEST_F(ClientLadderTest, WithoutPressureStrangersPassAtOnce) {
  BuildWith(LadderMode::kOn);
  view_ = {};
  PassTime(StrangerShare::kDoubling * 5);
  Seat& strangers = Connect();
  strangers.Say(Publish(NotesOfStrangers(40)));
  RunUntil([&] { return strangers->said.size() == 40; });
  EXPECT_EQ(Counted(Rung::kStranger, LadderOutcome::kPassed), 40U);
}

TEST_F(ClientLadderTest, AClaimedAuthorHasNoStandingBeforeTheSignature) {
  BuildWith(LadderMode::kOn);
  Seat& seat = Connect();
  std::string forged = Note("not by its author");
  forged.replace(forged.find("\"sig\":\"") + 7, 64, std::string(64, '0'));
  EXPECT_EQ(Ask(seat, Publish(forged)), NotOk(forged, "invalid: the signature is not its author's"));
  for (size_t outcome = 0; outcome < kLadderOutcomes; ++outcome)
    EXPECT_EQ(Counted(Rung::kTrusted, static_cast<LadderOutcome>(outcome)), 0U);
}

TEST_F(ClientLadderTest, EphemeralEventsOfFreshKeysAreNotHeldBack) {
  BuildWith(LadderMode::kOn);
  Seat& signers = Connect();
  signers.Say(Publish(NotesOfStrangers(40, 24133)));
  RunUntil([&] { return signers->said.size() == 40; });
  EXPECT_EQ(Counted(Rung::kStranger, LadderOutcome::kPassed), 0U);
  EXPECT_EQ(share_->Now().waiting, 0U);
}

TEST_F(ClientLadderTest, AGiftWrapStandsAsHighAsTheKeysOfItsSender) {
  BuildWith(LadderMode::kOn);
  EventParser parser;
  const Event wrap = parser.Parse(Signer(kFresh).SignedEvent(kNow, 1059, "[]", "")).value();
  const Event note = parser.Parse(Signer(kFresh).SignedEvent(kNow, 1, "[]", "")).value();
  const PublicKey trusted = signer_.pubkey();
  EXPECT_EQ(ladder_->RungOf(wrap.view(), {}), Rung::kStranger);
  EXPECT_EQ(ladder_->RungOf(wrap.view(), {&trusted, 1}), Rung::kTrusted);
  EXPECT_EQ(ladder_->RungOf(note.view(), {&trusted, 1}), Rung::kStranger);
}

// The queue of the commit thread.
TEST(LadderInTheCommit, AHundredAddressesOfStrangersHaveOneLotOfTurns) {
  Turns<int> turns;
  constexpr Work kEach = 100;
  for (int n = 0; n < 10; ++n) {
    for (uint64_t address = 1; address <= 100; ++address)
      turns.Push(Ladder::PartyOf(Rung::kStranger, {.id = address, .group = address}), 1, kEach);
    for (uint64_t address = 101; address <= 104; ++address) turns.Push({.id = address, .group = address}, 0, kEach);
  }
  int strangers = 0;
  for (int turn = 0; turn < 50; ++turn) strangers += turns.Pop();
  EXPECT_EQ(strangers, 10);
}

}  // namespace
}  // namespace weir
