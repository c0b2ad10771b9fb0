#include "config/wire/redis/redis_waiting_calls.h"

#include <utility>

namespace weir {

void RedisWaitingCalls::Add(RedisCallPtr call, std::string problem) {
  const TimePoint deadline = call->deadline;
  calls_.emplace(deadline, Waiting{.call = std::move(call), .problem = std::move(problem)});
  ArmTimer();
}

std::deque<RedisCallPtr> RedisWaitingCalls::TakeAll() {
  timer_.Cancel();
  std::deque<RedisCallPtr> taken;
  for (auto& [deadline, waiting] : std::exchange(calls_, {})) taken.push_back(std::move(waiting.call));
  return taken;
}

void RedisWaitingCalls::AnswerAll(const std::string& problem) {
  for (RedisCallPtr& call : TakeAll()) RedisCall::Answer(std::move(call), {.problem = problem});
}

void RedisWaitingCalls::ArmTimer() {
  if (calls_.empty()) return;
  timer_.At(calls_.begin()->first, [this] { OnDeadline(); });
}

void RedisWaitingCalls::OnDeadline() {
  // The callback of a call may add another call.
  while (!calls_.empty() && calls_.begin()->first <= loop_.Now()) {
    Waiting waiting = std::move(calls_.extract(calls_.begin()).mapped());
    RedisCall::Answer(std::move(waiting.call), {.problem = waiting.problem});
  }
  ArmTimer();
}

}  // namespace weir
