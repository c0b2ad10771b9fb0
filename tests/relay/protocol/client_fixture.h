// ClientTest: Clients on connections whose other end is the test. The test runs the I/O thread itself; the store is in
// memory, the limiter has an engine with scripted load, and the clocks move only when the test moves them.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/manual_clock.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/observe/relay/relay_counters.h"
#include "relay/protocol/client.h"
#include "tests/relay/protocol/memory_store.h"
#include "tests/throttle/scripted_monitor.h"

namespace weir {

class FakeConnection final : public Connection {
 public:
  FakeConnection(uint64_t id, boost::asio::io_context& io, Ledger& ledger, std::string address, std::string host)
      : id_(id), io_(io), address_(std::move(address)), host_(std::move(host)) {
    account_ = ledger.Open(std::hash<std::string>()(address_), [this] { ++times_asked_to_give_up; });
  }

  uint64_t id() const override { return id_; }
  const std::string& address() const override { return address_; }
  const std::string& host() const override { return host_; }
  const std::shared_ptr<Account>& account() const override { return account_; }
  bool secure() const override { return false; }
  size_t io_thread() const override { return 0; }
  boost::asio::any_io_executor executor() override { return io_.get_executor(); }
  void Send(TextMessage message) override {
    std::string text = message.head;
    text.append(message.body).append(message.tail);
    pending += text.size();
    if (takes) pending = 0;
    said.push_back(std::move(text));
  }
  size_t pending_bytes() const override { return pending; }
  void WhenPendingBelow(size_t bytes, std::function<void()> callback) override {
    waiting.emplace_back(bytes, std::move(callback));
  }
  void PauseReading() override { ++pauses; }
  void ResumeReading() override {
    if (--pauses == 0 && !unread.empty()) boost::asio::post(io_, [this] { Read(); });
  }
  void Close(CloseCode code, std::string_view) override { closed.push_back(code); }

  // Passes the texts to the client as if one read had brought them. If the client pauses, passes the rest after the
  // pause.
  void Read() {
    if (handler == nullptr) return;
    while (pauses == 0 && !unread.empty()) {
      const std::string text = std::move(unread.front());
      unread.pop_front();
      handler->OnText(text);
    }
    handler->OnReadEnd();
  }

  // Takes all output that waits, as a client that begins to read again.
  void TakeAll() {
    pending = 0;
    for (auto& [bytes, callback] : std::exchange(waiting, {})) callback();
  }
  std::string last() const { return said.empty() ? "" : said.back(); }
  size_t Count(std::string_view begin) const {
    size_t count = 0;
    for (const std::string& text : said) count += text.starts_with(begin) ? 1 : 0;
    return count;
  }

  ConnectionHandler* handler = nullptr;
  std::deque<std::string> unread;
  std::deque<std::string> said;
  std::vector<CloseCode> closed;
  std::vector<std::pair<size_t, std::function<void()>>> waiting;
  size_t pending = 0;
  bool takes = true;  // true while the client reads
  int pauses = 0;

  int times_asked_to_give_up = 0;

 private:
  std::shared_ptr<Account> account_;
  const uint64_t id_;
  boost::asio::io_context& io_;
  const std::string address_;
  const std::string host_;
};

// AskedWallClock: a clock that does not move, and that calls a function when it is read.
class AskedWallClock final : public WallClock {
 public:
  explicit AskedWallClock(uint64_t seconds) : now_(seconds) {}

  WallTime Now() const override {
    const std::lock_guard lock(mutex_);
    if (asked_) asked_();
    return now_.Now();
  }
  void Advance(uint64_t seconds) { now_.Advance(seconds); }
  // Sets the function, which is called on the thread that reads the clock.
  void WhenAsked(std::function<void()> asked) {
    const std::lock_guard lock(mutex_);
    asked_ = std::move(asked);
  }

 private:
  mutable std::mutex mutex_;
  ManualWallClock now_;
  std::function<void()> asked_;
};

// A connection with its client.
struct Seat {
  std::unique_ptr<FakeConnection> connection;
  std::shared_ptr<Client> client;

  FakeConnection* operator->() const { return connection.get(); }
  // Sends the texts as if one read had brought them.
  void Say(const std::vector<std::string>& texts) const {
    connection->unread.insert(connection->unread.end(), texts.begin(), texts.end());
    connection->Read();
  }
  void Say(const std::string& text) const { Say(std::vector<std::string>{text}); }
};

inline std::string IdOf(const std::string& event_json) { return std::string(FindId(event_json)); }
inline std::string Publish(const std::string& event_json) { return "[\"EVENT\"," + event_json + "]"; }
inline std::vector<std::string> Publish(const std::vector<std::string>& events) {
  std::vector<std::string> messages;
  for (const std::string& event : events) messages.push_back(Publish(event));
  return messages;
}
inline std::string OkFor(const std::string& event_json, const std::string& text = "") {
  return "[\"OK\",\"" + IdOf(event_json) + "\",true,\"" + text + "\"]";
}
inline std::string NotOk(const std::string& event_json, const std::string& text) {
  return "[\"OK\",\"" + IdOf(event_json) + "\",false,\"" + text + "\"]";
}

class ClientTest : public testing::Test {
 protected:
  static constexpr uint64_t kNow = 1'700'000'000;

  ~ClientTest() override {
    for (Seat& seat : seats_) End(seat);
    if (limiter_) limiter_->Stop();
    pool_.reset();
    if (pipeline_) pipeline_->Stop();
    io_.restart();
    io_.poll();
    seats_.clear();
    if (budget_) {
      EXPECT_EQ(budget_->out(), 0U) << "the budget was not given back";
    }
    EXPECT_EQ(own_bytes_, 0);
    EXPECT_EQ(waiting_bytes_, 0);
    if (ledger_) {
      EXPECT_EQ(ledger_->bytes(), 0U);
    }
    EXPECT_EQ(store_.queries_open(), 0U);
  }

  // Builds the relay with the settings as they are now.
  void Build(uint64_t budget_bytes = 32 << 20, const LimiterSettings& limiter_settings = {},
             Ledger::Bounds bounds = {}) {
    const auto count_own_bytes = [this](int64_t bytes, OwnUse use) {
      own_bytes_ += bytes;
      if (use == OwnUse::kWaiting) waiting_bytes_ += bytes;
    };
    ledger_.emplace(bounds, count_own_bytes);
    limiter_.emplace(monitor_, limiter_settings);
    budget_ = std::make_unique<ByteBudget>(budget_bytes);
    delivery_ = std::make_unique<Delivery>(
        counters_, clock_, wall_clock_, std::vector<boost::asio::any_io_executor>{io_.get_executor()}, count_own_bytes);
    pool_ = std::make_unique<WorkPool>(2);
    context_ = std::make_unique<RelayContext>(RelayContext{.settings = settings_,
                                                           .store = store_,
                                                           .limiter = *limiter_,
                                                           .pool = *pool_,
                                                           .counters = counters_,
                                                           .delivery = *delivery_,
                                                           .budget = *budget_,
                                                           .max_pending_bytes = 4 << 20,
                                                           .count_own_bytes = count_own_bytes,
                                                           .clock = *context_clock_,
                                                           .wall_clock = wall_clock_});
    pipeline_ = std::make_unique<EventPipeline>(*context_);
  }

  Seat& Connect(const std::string& address = "192.0.2.1", const std::string& host = "relay.example") {
    if (!context_) Build();
    Seat seat;
    seat.connection = std::make_unique<FakeConnection>(seats_.size() + 1, io_, *ledger_, address, host);
    seat.client = std::make_shared<Client>(*context_, *pipeline_, *seat.connection);
    seat.connection->handler = seat.client.get();
    return seats_.emplace_back(std::move(seat));
  }
  void End(Seat& seat) {
    if (!seat.client) return;
    seat.client->OnEnd("the test ends");
    seat.connection->handler = nullptr;
    seat.client.reset();
  }

  // Runs the I/O thread until the condition holds.
  template <typename Condition>
  void RunUntil(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "it never came";
      io_.restart();
      if (io_.poll() == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  // Runs until all memory that requests and events held is released: a thread may release it after its answer.
  void RunUntilAllIsGivenBack() {
    RunUntil([&] { return budget_->out() == 0 && ledger_->bytes() == 0 && store_.queries_open() == 0; });
  }
  // Runs until this many more messages were sent to the client. Returns them.
  std::vector<std::string> Hear(Seat& seat, size_t messages = 1) {
    RunUntil([&] { return seat->said.size() >= messages; });
    std::vector<std::string> heard(messages);  // empty texts if the messages did not come
    for (std::string& text : heard) {
      if (seat->said.empty()) break;
      text = std::move(seat->said.front());
      seat->said.pop_front();
    }
    return heard;
  }
  std::string Ask(Seat& seat, const std::string& text) {
    seat.Say(text);
    const auto heard = Hear(seat);
    return heard.empty() ? "" : heard[0];
  }
  // Says this for a client that does not read, and runs until its answer waits.
  void SayWithoutReading(Seat& seat, const std::string& request = R"(["REQ","s",{"kinds":[1]}])") {
    seat->takes = false;
    seat.Say(request);
    RunUntil([&] { return !seat->waiting.empty(); });
  }
  // Takes all output, also of a client that does not read, until this many messages that begin so have come.
  void TakeUntil(Seat& seat, std::string_view begin = "[\"EOSE\"", size_t times = 1) {
    RunUntil([&] {
      if (seat->Count(begin) >= times) return true;
      seat->TakeAll();
      RunUntilIdle();
      return false;
    });
  }
  // Lets time pass at the write gate until this many messages were sent to the client.
  void PumpUntilSaid(Seat& seat, size_t messages) {
    RunUntil([&] {
      clock_.Advance(std::chrono::milliseconds(1));
      limiter_->Pump();
      return seat->said.size() == messages;
    });
  }
  // Runs until the I/O thread, the workers and the commit thread have nothing left to do.
  void RunUntilIdle() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    for (bool idle = false; !idle;) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "it never came to rest";
      idle = PoolIsIdle();
      // SaveBulk returns when all earlier saves are answered. While the test holds saves back, no answer comes.
      if (!store_.holds_saves()) (void)pipeline_->SaveBulk({}, {});
      io_.restart();
      idle = io_.poll() == 0 && idle;
    }
  }

  // Returns true if all workers are idle at the same time and no task waits for them.
  bool PoolIsIdle() {
    struct Meeting {
      explicit Meeting(ptrdiff_t threads) : there(threads) {}
      std::latch there;
      std::latch over{1};
    };
    const auto meeting = std::make_shared<Meeting>(static_cast<ptrdiff_t>(pool_->threads()));
    for (size_t n = 0; n < pool_->threads(); ++n) {
      pool_->Submit(Urgency::kFair, Party{}, [meeting] {
        meeting->there.count_down();
        meeting->over.wait();
      });
    }
    meeting->there.wait();
    const bool idle = pool_->waiting() == 0;
    meeting->over.count_down();
    return idle;
  }

  std::string Note(const std::string& content, uint64_t age = 0) const {
    return signer_.SignedEvent(kNow - age, 1, "[]", content);
  }
  std::vector<std::string> Notes(size_t n, const std::string& content = "") {
    std::vector<std::string> notes;
    for (size_t i = 0; i < n; ++i) notes.push_back(Note(content + std::to_string(next_note_++), n - i));
    return notes;
  }
  // Saves into the store directly, without a client.
  void Store(const std::vector<std::string>& notes) {
    EventParser parser;
    std::vector<Event> events;
    for (const std::string& note : notes) events.push_back(parser.Parse(note).value());
    std::vector<SaveResult> results(events.size());
    ASSERT_TRUE(store_.Save(events, kNow, results).ok());
  }

  // Sets the load of the engine from now on, and makes the limiter sample it.
  void Engine(double level, double memory_pressure = 0) {
    monitor_.Say([=](LoadSample* sample) {
      sample->Add({.name = "l0",
                   .level = level,
                   .bytes_per_level = 40e6,
                   .dead_time = std::chrono::seconds(1),
                   .drain_bytes_per_second = 1e4});
      sample->memory_pressure = memory_pressure;
      sample->write_burst_bytes = 2000;
      return Status();
    });
    SampleForTwoSeconds();
  }
  void SampleForTwoSeconds() {
    for (int i = 0; i < 20; ++i) {
      clock_.Advance(std::chrono::milliseconds(100));
      EXPECT_TRUE(monitor_.SampleOnce().ok());
      limiter_->Tick();
      limiter_->Pump();
    }
  }

  boost::asio::io_context io_;
  ManualClock clock_{TimePoint{std::chrono::hours(1)}};
  const Clock* context_clock_ = &clock_;
  AskedWallClock wall_clock_{kNow};
  RelaySettings settings_;
  RelayCounters counters_;
  MemoryStore store_;
  ScriptedMonitor monitor_{clock_};
  std::optional<AdaptiveLimiter> limiter_;
  std::optional<Ledger> ledger_;
  std::unique_ptr<ByteBudget> budget_;
  std::unique_ptr<Delivery> delivery_;
  std::unique_ptr<RelayContext> context_;
  std::unique_ptr<EventPipeline> pipeline_;
  std::unique_ptr<WorkPool> pool_;
  std::deque<Seat> seats_;
  std::atomic<int64_t> own_bytes_{0};
  std::atomic<int64_t> waiting_bytes_{0};  // the part of own_bytes_ that waits
  Signer signer_{7};
  size_t next_note_ = 0;
};

}  // namespace weir
