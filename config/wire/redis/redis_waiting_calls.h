// RedisWaitingCalls: stores calls that wait, each at most until its deadline. The topologies (redis_topology.h) use it
// for calls whose server is not known yet, or that are sent again later.
//
// Threads: only the loop's thread (redis_loop.h) may use RedisWaitingCalls.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "config/wire/redis/redis_call.h"
#include "config/wire/redis/redis_loop.h"

namespace weir {

class RedisWaitingCalls {
 public:
  explicit RedisWaitingCalls(RedisLoop& loop) : timer_(loop), loop_(loop) {}
  ~RedisWaitingCalls() { AnswerAll("the store is closed"); }

  // Adds a call. If the deadline passes before the call is removed, the call ends without a reply and with `problem`.
  void Add(RedisCallPtr call, std::string problem);
  // Removes all calls and returns them, the earliest deadline first.
  std::deque<RedisCallPtr> TakeAll();
  // Removes all calls, and ends them without a reply and with `problem`.
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
