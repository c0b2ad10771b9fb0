// Several processes that share windows, with events between them in any order. A slow count of all grants shows whether
// there were too many.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "config/manual_clock.h"
#include "tests/throttle/limits/keyed/scripted_windows.h"
#include "throttle/limits/keyed/keyed_limiter.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSharedWindow{100};
constexpr int kProcesses = 3;

class SharingProcesses {
 public:
  enum class Server : uint8_t { kMayBeAway, kAnswersSoon };

  SharingProcesses(uint32_t limit, WhenAway when_away, Server server = Server::kMayBeAway)
      : limit_(limit),
        never_more_(when_away == WhenAway::kRefuse || server == Server::kAnswersSoon),
        server_answers_(server) {
    const auto rules =
        std::make_shared<KeyedRules>(KeyedLimits{.window = kSharedWindow, .max_requests = limit, .max_waiting = 3});
    for (Process& process : processes_) {
      process.limiter = std::make_unique<KeyedLimiter>(KeyedConfig{.rules = rules, .when_away = when_away}, clock_,
                                                       std::make_unique<ScriptedWindows>(&process.asked));
    }
  }
  ~SharingProcesses() {
    for (Process& process : processes_) process.limiter.reset();
  }

  void DoSomething() {
    Process& process = processes_[*rc::gen::inRange(0, kProcesses)];
    const bool away = server_answers_ == Server::kMayBeAway;
    switch (away ? *rc::gen::weightedElement<int>({{8, 0}, {6, 1}, {4, 2}, {3, 3}, {1, 4}, {2, 5}, {2, 6}, {2, 7}})
                 : *rc::gen::weightedElement<int>({{8, 0}, {6, 1}, {4, 2}, {4, 3}, {2, 5}, {2, 6}, {2, 8}, {8, 9}})) {
      case 0:
        return Take(process, false);
      case 1:
        return Take(process, true);
      case 2:
        return Count(process);
      case 3:
        return Tell(process);
      case 4:
        return LoseAnswer(process);
      case 5:
        return Leave(process);
      case 6:
        return GiveBack(process);
      case 7:
        return Pass(milliseconds(*rc::gen::inRange(1, 60)));
      case 8:
        AnswerAll();
        return Pass(UntilEnd() -
                    std::min(UntilEnd(), *rc::gen::element(Duration(kMoment), Duration(milliseconds(30)))));
      default:
        return Pass(kMoment / 2);
    }
  }

  void Check() {
    for (Process& process : processes_) CheckOrder(process);
    // Grants that were not given back, by the server's windows.
    std::map<int64_t, uint32_t> granted;
    std::map<std::pair<int64_t, Process*>, uint32_t> by_process;
    for (const auto& request : requests_) {
      if (!request->granted() || request->given_back) continue;
      const int64_t window = (request->at - kBegin) / Duration(kSharedWindow);
      ++granted[window];
      ++by_process[{window, request->process}];
    }
    if (never_more_)
      for (const auto& [window, count] : granted) RC_ASSERT(count <= limit_);
    // A process that counts alone uses windows of its own, two of which may overlap one of the server's.
    for (const auto& [window_and_process, count] : by_process) RC_ASSERT(count <= 2 * limit_);
  }

  // Every waiting request has its turn when the server answers, and none is left at the end.
  void End() {
    for (int i = 0; i < 200; ++i) {
      Pass(milliseconds(20));
      AnswerAll();
    }
    for (const auto& request : requests_) RC_ASSERT(request->answer.has_value() != request->left);
    for (Process& process : processes_) {
      const KeyedCounts counts = process.limiter->Counts();
      RC_ASSERT(counts.waiting == 0u);
      RC_ASSERT(counts.keys == 0u);
      if (never_more_) RC_ASSERT(counts.leased + counts.given_back == counts.granted + counts.unspent);
    }
    Check();
  }

 private:
  struct Process;
  struct Request : KeyedCaller {
    void OnWaiting(KeyedTicket given) override { ticket = given; }
    void OnAnswer(const KeyedAnswer& given) override {
      RC_ASSERT(!answer);
      RC_ASSERT(!left);
      answer = given;
      at = clock->Now();
      turn = (*next_turn)++;
    }
    bool granted() const { return answer && answer->code == KeyedCode::kGranted; }

    const ManualClock* clock;
    int* next_turn;
    Process* process;
    std::optional<KeyedTicket> ticket;
    std::optional<KeyedAnswer> answer;
    TimePoint at;
    int turn = 0;  // its place in the order of answers
    bool left = false;
    bool given_back = false;
  };
  struct Process {
    std::deque<ScriptedWindows::Asked> asked;                                             // on the way to the server
    std::deque<std::pair<std::function<void(const LeaseAnswer&)>, LeaseAnswer>> counted;  // on the way back
    std::vector<std::shared_ptr<Request>> requests;
    std::unique_ptr<KeyedLimiter> limiter;
  };
  static constexpr TimePoint kBegin{std::chrono::hours(1)};
  static constexpr Duration kMoment = std::chrono::microseconds(50);

  void Take(Process& process, bool may_wait) {
    auto request = std::make_shared<Request>();
    request->clock = &clock_;
    request->next_turn = &next_turn_;
    request->process = &process;
    requests_.push_back(request);
    process.requests.push_back(request);
    process.limiter->Take({.key = "k", .may_wait = may_wait}, request);
  }
  void Count(Process& process) {
    if (process.asked.empty()) return;
    ScriptedWindows::Asked asked = std::move(process.asked.front());
    process.asked.pop_front();
    const LeaseAnswer answer = server_.Lease("k", asked.wish, clock_.Now() - kBegin);
    process.counted.emplace_back(std::move(asked.done), answer);
  }
  void Tell(Process& process) {
    if (process.counted.empty()) return;
    const auto [done, answer] = std::move(process.counted.front());
    process.counted.pop_front();
    done(answer);
  }
  void AnswerAll() {
    for (Process& process : processes_) {
      for (; !process.asked.empty() || !process.counted.empty(); Tell(process)) Count(process);
    }
  }
  // Loses the question on its way, or the answer on its way back.
  void LoseAnswer(Process& process) {
    if (!process.asked.empty() && *rc::gen::arbitrary<bool>()) Count(process);
    if (!process.counted.empty()) {
      process.counted.front().second = {};
      Tell(process);
    } else if (!process.asked.empty()) {
      const ScriptedWindows::Asked asked = std::move(process.asked.front());
      process.asked.pop_front();
      asked.done({});
    }
  }
  void Leave(Process& process) {
    for (const auto& request : process.requests) {
      if (!request->ticket || request->answer || request->left || *rc::gen::arbitrary<bool>()) continue;
      request->left = true;
      return process.limiter->Leave("k", *request->ticket);
    }
  }
  void GiveBack(Process& process) {
    for (auto at = process.requests.rbegin(); at != process.requests.rend(); ++at) {
      Request& request = **at;
      if (!request.granted() || *rc::gen::arbitrary<bool>()) continue;
      const bool before = request.given_back;
      return process.limiter->GiveBack("k", request.answer->grant, [&](bool given_back) {
        RC_ASSERT(!(before && given_back));
        request.given_back = before || given_back;
      });
    }
  }
  Duration UntilEnd() const { return kSharedWindow - (clock_.Now() - kBegin) % kSharedWindow; }
  void Pass(Duration time) {
    clock_.Advance(time);
    for (Process& process : processes_) process.limiter->Tick();
  }

  // Among the requests that waited in line, an earlier one is granted before every later one.
  void CheckOrder(const Process& process) {
    int last = -1;
    for (const auto& request : process.requests) {
      if (!request->ticket || !request->granted()) continue;
      RC_ASSERT(request->turn > last);
      last = request->turn;
    }
  }

  const uint32_t limit_;
  const bool never_more_;  // than the limit in one window, over all processes
  const Server server_answers_;
  ManualClock clock_{kBegin};
  CountedWindows server_;
  int next_turn_ = 0;
  std::vector<std::shared_ptr<Request>> requests_;
  std::array<Process, kProcesses> processes_;
};

RC_GTEST_PROP(SharedKeysRandom, NeverLetMoreThanTheLimitThroughInAWindow, ()) {
  SharingProcesses processes(*rc::gen::element<uint32_t>(1, 2, 5, 40), WhenAway::kRefuse);
  const int steps = *rc::gen::inRange(1, 200);
  for (int i = 0; i < steps; ++i) {
    processes.DoSomething();
    processes.Check();
  }
  processes.End();
}

RC_GTEST_PROP(SharedKeysRandom, NeverLetMoreThroughAtAnEdgeWhileTheServerAnswers, ()) {
  SharingProcesses processes(*rc::gen::element<uint32_t>(1, 2, 5, 40), WhenAway::kAlone,
                             SharingProcesses::Server::kAnswersSoon);
  const int steps = *rc::gen::inRange(1, 200);
  for (int i = 0; i < steps; ++i) {
    processes.DoSomething();
    processes.Check();
  }
  processes.End();
}

RC_GTEST_PROP(SharedKeysRandom, LetEachProcessHaveTheLimitWhileTheWindowsAreAway, ()) {
  SharingProcesses processes(*rc::gen::element<uint32_t>(1, 2, 5, 40), WhenAway::kAlone);
  const int steps = *rc::gen::inRange(1, 200);
  for (int i = 0; i < steps; ++i) {
    processes.DoSomething();
    processes.Check();
  }
  processes.End();
}

}  // namespace
}  // namespace weir
