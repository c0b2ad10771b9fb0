// One command to a Redis server, and its outcome.
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
// Returns true if an error is of this kind: the first word, "MOVED", "LOADING", …
bool IsError(const redisReply& reply, std::string_view kind);

// Returns true if a script met a key that the move of its slot has taken away, or not brought yet.
bool IsKeyOnItsWay(const redisReply& reply);

// Returns the server's words, and what helps.
std::string DescribeError(const redisReply& reply);

// A command as it goes over the wire.
std::string FormatRedisCommand(std::span<const std::string_view> words);
inline std::string FormatRedisCommand(std::initializer_list<std::string_view> words) {
  return FormatRedisCommand(std::span(words.begin(), words.size()));
}

// Either the server's reply, which may be an error, or none.
struct RedisOutcome {
  RedisReply reply = nullptr;
  // Without a reply: true if the server may have executed it all the same.
  bool sent = false;
  // Without a reply, or with an error: names the server, and says what happened and what helps.
  std::string problem = {};

  bool answered() const { return reply != nullptr; }
};

inline bool IsGood(const RedisOutcome& outcome) { return outcome.answered() && !IsError(*outcome.reply); }

struct RedisCommand {
  std::string text;  // made by FormatRedisCommand
  uint16_t slot = 0;
};

struct RedisCall {
  // Stands between the connection and `done`: gets the call back with its outcome, to answer it or to send it again.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void OnOutcome(std::unique_ptr<RedisCall> call, RedisOutcome outcome) = 0;
  };

  std::string command;     // made by FormatRedisCommand
  uint16_t slot = 0;       // slot of its keys: RedisSlot(model's tag); only a cluster looks at it
  TimePoint deadline;      // then the call is answered without a reply, wherever it is
  uint8_t sent_again = 0;  // for NOSCRIPT, MOVED, ASK, …, which say that it was not executed; counted by the sender
  bool asking = false;     // a cluster's node gets ASKING before it
  // Called exactly once, on the loop's thread; must not block.
  std::function<void(RedisOutcome)> done;
  // Called once, on the loop's thread, if the server replies after all, though the call was answered without a reply
  // (`sent`). Gets what is left of the call (command and slot).
  using Late = std::function<void(RedisCall& call, const redisReply& reply)>;
  Late late = {};

  Handler* handler = nullptr;

  // Gives the outcome to the handler, which is then no longer asked, or to `done`; the call is gone when this returns.
  static void Answer(std::unique_ptr<RedisCall> call, RedisOutcome outcome) {
    if (Handler* handler = std::exchange(call->handler, nullptr))
      return handler->OnOutcome(std::move(call), std::move(outcome));
    call->done(std::move(outcome));
  }
};
using RedisCallPtr = std::unique_ptr<RedisCall>;

}  // namespace weir
