// One command to a Redis server, and what came of it.
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "config/clock.h"
#include "throttle/redis/redis_slot.h"

namespace weir {

struct FreeRedisReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using RedisReply = std::unique_ptr<redisReply, FreeRedisReply>;

inline std::string_view TextOf(const redisReply& reply) { return {reply.str, static_cast<size_t>(reply.len)}; }
inline bool IsError(const redisReply& reply) { return reply.type == REDIS_REPLY_ERROR; }
// Whether an error is of this kind: the first word, "MOVED", "LOADING", …
bool IsError(const redisReply& reply, std::string_view kind);

// A script met a key that its slot's move has taken away, or not brought yet.
bool IsKeyOnItsWay(const redisReply& reply);

// The server's words, and what helps.
std::string DescribeError(const redisReply& reply);

// A command as it goes over the wire.
std::string FormatRedisCommand(std::span<const std::string_view> words);
inline std::string FormatRedisCommand(std::initializer_list<std::string_view> words) {
  return FormatRedisCommand(std::span(words.begin(), words.size()));
}

// Either the server's reply, which may be an error of it, or none.
struct RedisOutcome {
  RedisReply reply = nullptr;
  // Without a reply: whether the server may have executed it all the same.
  bool sent = false;
  // Without a reply, or with an error: names the server, and says what happened and what helps.
  std::string problem = {};

  bool answered() const { return reply != nullptr; }
};

inline bool IsGood(const RedisOutcome& outcome) { return outcome.answered() && !IsError(*outcome.reply); }

struct RedisCommand {
  std::string text;  // FormatRedisCommand
  uint16_t slot = 0;
};

struct RedisCall {
  // Who stands between the connection and `done`: gets the call back with its outcome, to answer or to send it again.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void OnOutcome(std::unique_ptr<RedisCall> call, RedisOutcome outcome) = 0;
  };

  std::string command;     // FormatRedisCommand
  uint16_t slot = 0;       // of its keys: RedisSlot(model's tag). Only a cluster looks at it
  TimePoint deadline;      // then it is answered without a reply, wherever it is
  uint8_t sent_again = 0;  // for NOSCRIPT, MOVED, ASK, …, which say that it was not executed; who sends again counts
  bool asking = false;     // a cluster's ASKING goes before it
  // Called exactly once, on the loop's thread; must not block.
  std::function<void(RedisOutcome)> done;
  // Where the server replies after all, though the call was answered without a reply (`sent`): called once, on the
  // loop's thread, with what is left of the call (command and slot).
  using Late = std::function<void(RedisCall& call, const redisReply& reply)>;
  Late late = {};

  Handler* handler = nullptr;

  // To the handler, which is then no longer asked, or to `done`; the call is gone when this returns.
  static void Answer(std::unique_ptr<RedisCall> call, RedisOutcome outcome) {
    if (Handler* handler = std::exchange(call->handler, nullptr))
      return handler->OnOutcome(std::move(call), std::move(outcome));
    call->done(std::move(outcome));
  }
};
using RedisCallPtr = std::unique_ptr<RedisCall>;

}  // namespace weir
