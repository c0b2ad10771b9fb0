// Live delivery in turns: no client's subscriptions hold up the thread, or other clients' events.
#include "relay/protocol/delivery.h"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "tests/fixtures/failing_memory.h"
#include "tests/relay/protocol/client_fixture.h"

namespace weir {
namespace {

constexpr uint64_t kAlice = 1;
constexpr uint64_t kBob = 2;

struct Listener final : LiveSubscriber {
  explicit Listener(Delivery& d) : delivery(d) {}
  ~Listener() override { Leave(); }
  void OnLive(const LiveEvent& event, bool) override { heard.push_back(event.serial.number); }
  void OnTooCostly() override {
    ++times_too_costly;
    Leave();
  }
  void Leave() {
    if (subscription.key != 0) delivery.Unsubscribe(0, subscription);
    subscription = {};
  }

  Delivery& delivery;
  Delivery::Subscription subscription;
  std::vector<uint64_t> heard;
  int times_too_costly = 0;
};

struct Sender final : EventSender {
  size_t io_thread() const override { return 0; }
  void OnAnswers(std::span<Answer>) override { when_answered(); }
  std::function<void()> when_answered;
};

class DeliveryTest : public ClientTest {
 protected:
  DeliveryTest() { Build(32 << 20, {}, {.address_bytes = 200'000}); }

  Listener& Listen(uint64_t address) {
    auto& account = accounts_[address];
    if (!account) account = ledger_->Open(address);
    Listener& listener = *listeners_.emplace_back(std::make_unique<Listener>(*delivery_));
    Filter notes;
    notes.kinds = {1};
    listener.subscription = delivery_->Subscribe(0, address, account, {notes}, 1, &listener);
    return listener;
  }
  std::vector<Listener*> ListenOften(uint64_t address, size_t n) {
    std::vector<Listener*> listeners;
    for (size_t i = 0; i < n; ++i) listeners.push_back(&Listen(address));
    return listeners;
  }
  void Publish(size_t events, size_t content_bytes = 10, std::vector<Answer> answers = {}) {
    const auto batch = std::make_shared<LiveBatch>(*budget_);
    EventParser parser;
    for (const std::string& note : Notes(events, std::string(content_bytes, 'x')))
      batch->events.push_back({parser.Parse(note).value(), {.number = ++serial_}, clock_.Now()});
    delivery_->Deliver(std::move(answers), batch);
  }
  static size_t Heard(const std::vector<Listener*>& listeners) {
    size_t sum = 0;
    for (const Listener* listener : listeners) sum += listener->heard.size();
    return sum;
  }
  void RunAll() {
    io_.restart();
    io_.poll();
  }
  void RunOne() {
    io_.restart();
    io_.poll_one();
  }

  std::map<uint64_t, std::shared_ptr<Account>> accounts_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  uint64_t serial_ = 0;
};

TEST_F(DeliveryTest, TheThreadHasOtherTurnsWhileOneEventGoesToMany) {
  const std::vector<Listener*> many = ListenOften(kAlice, 3000);
  Publish(1);
  size_t turns = 0;
  for (size_t before = 0; Heard(many) < many.size(); before = Heard(many), ++turns) {
    ASSERT_LT(turns, 100U);
    RunOne();
    ASSERT_LE((Heard(many) - before) * kDeliveryWork, kTurnWork + kDeliveryWork) << "in one turn";
  }
  EXPECT_GE(turns, 3000 * kDeliveryWork / kTurnWork);
  for (const Listener* listener : many) ASSERT_EQ(listener->heard, std::vector<uint64_t>{1});
}

TEST_F(DeliveryTest, WhereMemoryFailsBetweenTurnsTheNextEventGoesOn) {
  const std::vector<Listener*> many = ListenOften(kAlice, 3000);
  const auto sender = std::make_shared<Sender>();
  sender->when_answered = [this] {
    for (int n = 0; n < 4; ++n) boost::asio::post(io_, [] {});  // these take the memory that Asio keeps for reuse
    FailAlignedAllocation(1);
  };
  std::vector<Answer> answers(1);
  answers[0].sender = sender;
  Publish(1, 10, std::move(answers));
  EXPECT_THROW(RunOne(), std::bad_alloc);
  EXPECT_TRUE(EndFailing());
  RunAll();
  EXPECT_LT(Heard(many), many.size());
  Publish(1);
  RunAll();
  EXPECT_EQ(Heard(many), 2 * many.size());
}

TEST_F(DeliveryTest, AnAddressThatSubscribesToMuchDelaysItselfAlone) {
  const std::vector<Listener*> many = ListenOften(kAlice, 3000);
  const Listener& quiet = Listen(kBob);
  Publish(20);
  size_t turns = 0;
  for (; quiet.heard.size() < 20; ++turns) {
    ASSERT_LT(turns, 100U);
    RunOne();
  }
  EXPECT_LE(turns, 12U) << "a quarter of a turn for each event, and as much for her lane";
  EXPECT_LT(Heard(many), 20 * many.size() / 8);
  EXPECT_EQ(budget_->out(), 0U) << "nor does it hold up who sends events";
  RunAll();
  for (const Listener* listener : many) {
    ASSERT_EQ(listener->heard.size(), 20U);
    ASSERT_TRUE(std::ranges::is_sorted(listener->heard)) << "in their order";
  }
}

TEST_F(DeliveryTest, TheSharedLaneHasHalfHoweverManyOtherLanesThereAre) {
  constexpr uint64_t kMany = 30;
  std::vector<Listener*> all = ListenOften(kBob, 100);
  for (uint64_t address = 10; address < 10 + kMany; ++address) {
    const std::vector<Listener*> listeners = ListenOften(address, 400);
    all.insert(all.end(), listeners.begin(), listeners.end());
  }
  std::vector<Listener*> shared;
  std::ranges::copy_if(all, std::back_inserter(shared), [](const Listener* l) { return !l->subscription.own_lane; });
  Publish(20);
  const size_t work = 20 * shared.size() * kDeliveryWork;
  ASSERT_GT(20 * all.size() * kDeliveryWork, 3 * work);
  size_t turns = 0;
  for (; Heard(shared) < 20 * shared.size(); ++turns) {
    ASSERT_LT(turns, 10'000U);
    RunOne();
  }
  EXPECT_LE(turns, 5 * work / (2 * kTurnWork));
  RunAll();
}

TEST_F(DeliveryTest, EventsForACostlyAddressCountForItAndOnceAsMemory) {
  ListenOften(kAlice, 3000);
  Publish(3, 1000);
  RunOne();
  EXPECT_GT(accounts_[kAlice]->address_bytes(), 2000U);
  EXPECT_GT(own_bytes_, 3000);
  EXPECT_LT(own_bytes_, 3 * 2000) << "not for each of them";
  RunAll();
  EXPECT_EQ(ledger_->bytes(), 0U);
  EXPECT_EQ(own_bytes_, 0);
}

TEST_F(DeliveryTest, SubscriptionsThatCannotKeepUpAreEndedAndOthersAreNot) {
  const std::vector<Listener*> many = ListenOften(kAlice, 3000);
  const Listener& quiet = Listen(kBob);
  Publish(30, 10'000);
  size_t turns = 0;
  for (; ledger_->bytes() > 0 || delivery_->subscriptions() > 1000; ++turns) {
    ASSERT_LT(turns, 100U);
    RunOne();
  }
  RunAll();
  EXPECT_GT(turns, 3U) << "that many are not ended in one";
  EXPECT_EQ(quiet.heard.size(), 30U);
  const auto ended = std::ranges::count_if(many, [](const Listener* l) { return l->times_too_costly == 1; });
  EXPECT_GT(ended, 2000) << "some are matched together with everybody's";
  EXPECT_EQ(delivery_->subscriptions(), 3001U - static_cast<size_t>(ended));
  Listener& again = Listen(kAlice);
  Publish(1);
  RunAll();
  EXPECT_EQ(again.heard.size(), 1U);
}

TEST_F(DeliveryTest, GivesUpEventsForACostlyAddressWhenItIsAsked) {
  const std::vector<Listener*> many = ListenOften(kAlice, 3000);
  Publish(3, 1000);
  RunOne();
  ASSERT_GT(ledger_->AskHeaviest(1), 0U);
  RunAll();
  EXPECT_GT(std::ranges::count_if(many, [](const Listener* l) { return l->times_too_costly == 1; }), 2000);
  EXPECT_EQ(ledger_->bytes(), 0U);
}

TEST_F(DeliveryTest, LeavingInTheMidstOfAnEventIsSafe) {
  std::vector<Listener*> many = ListenOften(kAlice, 3000);
  Publish(2);
  for (size_t i = 0; i < many.size(); ++i) {
    if (i % 500 == 0) RunOne();
    many[i]->Leave();
  }
  RunAll();
  EXPECT_EQ(delivery_->subscriptions(), 0U);
  EXPECT_EQ(ledger_->bytes(), 0U);
  for (const Listener* listener : many) ASSERT_LE(listener->heard.size(), 2U);
}

TEST_F(DeliveryTest, AnswersGoOutBeforeEventsAreMatched) {
  const std::vector<Listener*> many = ListenOften(kAlice, 10);
  const auto sender = std::make_shared<Sender>();
  size_t heard_before = 1;
  sender->when_answered = [&] { heard_before = Heard(many); };
  std::vector<Answer> answers;
  answers.push_back({.sender = sender, .message = "ok", .received = clock_.Now()});
  Publish(1, 10, std::move(answers));
  RunAll();
  EXPECT_EQ(heard_before, 0U);
  EXPECT_EQ(Heard(many), many.size());
}

}  // namespace
}  // namespace weir
