// RedisWaitingCalls: calls that wait until the server for them is known, each up to its deadline.
//
// Threads: the loop's only.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "throttle/redis/redis_call.h"
#include "throttle/redis/redis_loop.h"

namespace weir {

class RedisWaitingCalls {
 public:
  explicit RedisWaitingCalls(RedisLoop& loop) : timer_(loop), loop_(loop) {}
  ~RedisWaitingCalls() { AnswerAll("the store is closed"); }

  // `problem` is the call's answer at its deadline.
  void Add(RedisCallPtr call, std::string problem);
  std::deque<RedisCallPtr> TakeAll();  // the earliest deadline first
  void AnswerAll(const std::string& problem);
  bool empty() const { return calls_.empty(); }

 private:
  struct Waiting {
    RedisCallPtr call;
    std::string problem;
  };
  void ArmTimer();
  void OnDeadline();

  std::multimap<TimePoint, Waiting> calls_;
  RedisLoop::Timer timer_;
  RedisLoop& loop_;
};

}  // namespace weir
