#include <algorithm>
#include <map>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"
#include "tests/throttle/limits/queued/queued_fixture.h"
#include "throttle/limits/by_name/grant_window.h"
#include "throttle/limits/queued/ticket_line.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using Algorithm = EndpointConfig::Algorithm;
using Scheduler = EndpointConfig::Scheduler;
using Overflow = EndpointConfig::Overflow;

const TimePoint kStart = TimePoint(std::chrono::hours(5));
constexpr milliseconds kDistance{100};  // ten a second
constexpr milliseconds kWindow{1600};   // slices of 50 ms
constexpr uint64_t kTokens = 20;
constexpr uint32_t kBurst = 3;

// One endpoint that searches all waiting requests each time, and remembers everything that was served.
class Reference {
 public:
  Reference(const EndpointConfig& config) : config_(config) {}

  struct Ticket {
    int id;
    int priority;
    uint64_t cost;
    bool in_queue = false;
    bool aside = false;
    int passed_over = 0;
  };

  void Take(int id, int priority, uint64_t tokens, std::optional<Duration> timeout, TimePoint now) {
    Serve(now);
    const uint64_t cost = tokens == 0 ? config_.default_tokens : tokens;
    const bool fits_before_those_aside =
        std::ranges::all_of(waiting_, [&](const Ticket& ticket) { return ticket.aside; });
    if (fits_before_those_aside && Holds(cost, now)) return ServeNow({id, priority, cost}, now, now);
    const Duration longest = timeout.value_or(config_.queue_timeout);
    if ((timeout || longest > Duration{}) && PredictedWait(now) > longest) return answers_.push_back({id, false});
    const bool blocks = config_.overflow == Overflow::kBlock && config_.max_queue_size > 0;
    if (!blocks && waiting_.size() >= config_.max_queue_size) return answers_.push_back({id, false});
    if (waiting_.empty()) line_since_ = now;
    waiting_.push_back({id, priority, cost});
    LetIn();
    Serve(now);
  }
  void Leave(int id, TimePoint now) {
    std::erase_if(waiting_, [&](const Ticket& ticket) { return ticket.id == id; });
    LetIn();
    Serve(now);
  }
  void Serve(TimePoint now) {
    const int64_t window = (now - kStart) / kWindow;
    if (window != window_)
      for (Ticket& ticket : waiting_) ticket.aside = false;
    window_ = window;
    for (;;) {
      const auto next = Next();
      if (next == waiting_.end() || (IsTokens() ? TokensLeft(now) == 0 : !Holds(1, now))) return;
      if (Holds(next->cost, now)) {
        const Ticket ticket = *next;
        waiting_.erase(next);
        ServeNow(ticket, now, line_since_);
      } else {
        next->aside = true;
        ++next->passed_over;
      }
      LetIn();
    }
  }
  std::vector<std::pair<int, bool>> TakeAnswers() { return std::exchange(answers_, {}); }
  std::vector<int> Waiting() const {
    std::vector<int> ids;
    for (const Ticket& ticket : waiting_) ids.push_back(ticket.id);
    return ids;
  }

 private:
  bool IsTokens() const { return config_.algorithm == Algorithm::kTokenWindow; }
  void LetIn() {
    for (Ticket& ticket : waiting_) {
      const auto queued = static_cast<size_t>(std::ranges::count_if(waiting_, &Ticket::in_queue));
      if (!ticket.in_queue && queued < config_.max_queue_size) ticket.in_queue = true;
    }
  }
  std::vector<Ticket>::iterator Next() {
    const auto rank = [&](const Ticket& ticket) {
      const bool first = ticket.passed_over >= TicketLine::kMostPassedOver;
      const int urgency = config_.scheduler == Scheduler::kPriority && !first ? -ticket.priority : 0;
      const int order = config_.scheduler == Scheduler::kLifo && !first ? -ticket.id : ticket.id;
      return std::tuple(!first, urgency, order);
    };
    auto next = waiting_.end();
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at)
      if (at->in_queue && !at->aside && (next == waiting_.end() || rank(*at) < rank(*next))) next = at;
    return next;
  }
  bool Holds(uint64_t cost, TimePoint now) const {
    switch (config_.algorithm) {
      case Algorithm::kStrict:
        return now >= paid_until_;
      case Algorithm::kTokenBucket:
        return now >= paid_until_ - (kBurst - 1) * kDistance;
      case Algorithm::kSlidingWindow: {
        const Duration slice = Duration(kWindow) / GrantWindow::kSlices;
        const auto count = std::ranges::count_if(served_, [&](const auto& each) {
          return (now - kStart) / slice - (each.first - kStart) / slice <= GrantWindow::kSlices;
        });
        return count < config_.most_in_window;
      }
      default:
        return cost <= TokensLeft(now);
    }
  }
  uint64_t TokensLeft(TimePoint now) const {
    uint64_t left = kTokens;
    for (const auto& [at, cost] : served_)
      if ((at - kStart) / kWindow == (now - kStart) / kWindow) left -= cost;
    return left;
  }
  void ServeNow(const Ticket& ticket, TimePoint now, TimePoint since) {
    served_.emplace_back(now, ticket.cost);
    const TimePoint made_up = now - milliseconds(100);
    paid_until_ = std::max(paid_until_, std::max(since, made_up)) + kDistance;
    answers_.push_back({ticket.id, true});
  }
  Duration UntilRoom(TimePoint now) const {
    switch (config_.algorithm) {
      case Algorithm::kStrict:
        return std::max(Duration{}, paid_until_ - now);
      case Algorithm::kTokenBucket:
        return std::max(Duration{}, paid_until_ - (kBurst - 1) * kDistance - now);
      case Algorithm::kSlidingWindow: {
        const Duration slice = Duration(kWindow) / GrantWindow::kSlices;
        TimePoint at = now;
        while (!Holds(1, at)) at += slice - (at - kStart) % slice;
        return at - now;
      }
      default:
        return kWindow - (now - kStart) % kWindow;
    }
  }
  Duration PredictedWait(TimePoint now) const {
    if (config_.scheduler == Scheduler::kLifo) return {};
    return std::max(UntilRoom(now), WaitInLine(now));
  }
  Duration WaitInLine(TimePoint now) const {
    if (IsTokens()) {
      uint64_t pending = 0;
      for (const Ticket& ticket : waiting_) pending += ticket.cost;
      return (pending + kTokens - 1) / kTokens * Duration(kWindow);
    }
    int64_t ahead = static_cast<int64_t>(waiting_.size());
    if (config_.algorithm == Algorithm::kTokenBucket && now >= paid_until_ - (kBurst - 1) * kDistance)
      ahead -= std::min<int64_t>(kBurst, 1 + (now - (paid_until_ - (kBurst - 1) * kDistance)) / kDistance);
    return std::max<int64_t>(0, ahead) * Duration(kDistance);
  }

  const EndpointConfig& config_;
  std::vector<Ticket> waiting_;  // in order of arrival
  std::vector<std::pair<TimePoint, uint64_t>> served_;
  std::vector<std::pair<int, bool>> answers_;  // caller, and whether it was served
  TimePoint paid_until_ = kStart;
  TimePoint line_since_{};
  int64_t window_ = 0;
};

RC_GTEST_PROP(QueuedProperty, AnswersAsTheReferenceDoes, ()) {
  const auto rules = QueuedRules::Make({{
      .path = "/a",
      .rate = 10,
      .scheduler = *rc::gen::element(Scheduler::kFifo, Scheduler::kLifo, Scheduler::kPriority),
      .algorithm = *rc::gen::element(Algorithm::kStrict, Algorithm::kTokenBucket, Algorithm::kSlidingWindow,
                                     Algorithm::kTokenWindow),
      .max_queue_size = *rc::gen::element(0U, 1U, 5U, 30U),
      .overflow = *rc::gen::element(Overflow::kReject, Overflow::kBlock),
      .burst_size = kBurst,
      .window = kWindow,
      .queue_timeout = *rc::gen::element(milliseconds(0), milliseconds(0), milliseconds(700)),
      .tokens_per_window = kTokens,
      .default_tokens = 1,
  }});
  ManualClock clock(kStart);
  std::vector<std::pair<int, bool>> answers;
  QueuedLimiter limiter({.rules = rules.value()}, clock);
  Reference reference(*rules.value()->Nearest("/a")->second);

  struct Caller : QueuedCaller {
    void OnWaiting(QueuedTicket given) override { ticket = given; }
    void OnAnswer(const QueuedAnswer& answer) override { answers->push_back({id, answer.code == QueuedCode::kServed}); }
    int id = 0;
    QueuedTicket ticket;
    std::vector<std::pair<int, bool>>* answers = nullptr;
  };
  std::vector<std::shared_ptr<Caller>> callers;
  for (int step = 0; step < 250; ++step) {
    clock.Advance(milliseconds(
        *rc::gen::weightedElement<int>({{12, 0}, {4, 10}, {3, 60}, {3, 100}, {2, 290}, {1, 1600}, {1, 4000}})));
    const int what = *rc::gen::inRange(0, 10);
    if (what < 6) {
      const auto caller = std::make_shared<Caller>();
      caller->id = static_cast<int>(callers.size());
      caller->answers = &answers;
      callers.push_back(caller);
      const int priority = *rc::gen::inRange(-2, 3);
      const auto tokens = *rc::gen::weightedElement<uint64_t>({{5, 1}, {5, 3}, {2, 12}, {1, 20}, {1, 0}});
      const auto timeout = *rc::gen::weightedElement<std::optional<Duration>>(
          {{8, std::nullopt}, {1, Duration{}}, {1, milliseconds(250)}});
      limiter.Take({.path = "/a", .priority = priority, .tokens = tokens, .timeout = timeout}, caller);
      reference.Take(caller->id, priority, tokens, timeout, clock.Now());
    } else if (what < 8) {
      limiter.Tick();
      reference.Serve(clock.Now());
    } else if (const std::vector<int> waiting = reference.Waiting(); !waiting.empty()) {
      const int leaves = *rc::gen::elementOf(waiting);
      limiter.Leave(callers[static_cast<size_t>(leaves)]->ticket);
      reference.Leave(leaves, clock.Now());
    }
    RC_ASSERT(answers == reference.TakeAnswers());
    answers.clear();
    RC_ASSERT(limiter.Counts().waiting == reference.Waiting().size());
  }
}

}  // namespace
}  // namespace weir
