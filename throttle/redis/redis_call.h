// RedisCall: one command to a Redis server, with the callback that gets its outcome. Also: helpers for replies.
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
// Returns true if `reply` is an error of this kind. The kind is the first word of the error's text, such as "MOVED" or
// "LOADING".
bool IsError(const redisReply& reply, std::string_view kind);

// Returns true if `reply` is the error of a script that needs a key which is not on this server, because the slot of
// the key is being moved to this server or away from it.
bool IsKeyOnItsWay(const redisReply& reply);

// Returns the text of the error and, for errors that weir knows, what the operator can do.
std::string DescribeError(const redisReply& reply);

// Returns the command in the form in which it is sent (RESP).
std::string FormatRedisCommand(std::span<const std::string_view> words);
inline std::string FormatRedisCommand(std::initializer_list<std::string_view> words) {
  return FormatRedisCommand(std::span(words.begin(), words.size()));
}

// The outcome of a call: either the server's reply, which may be an error, or no reply.
struct RedisOutcome {
  RedisReply reply = nullptr;
  // Without a reply: true if the server may nevertheless have executed the command.
  bool sent = false;
  // Names the server, and says what happened and what the operator can do. Set if there is no reply. With an error
  // reply it is set only if the call went through a RedisServer; it is empty if the call was given directly to a
  // RedisConnection.
  std::string problem = {};

  bool answered() const { return reply != nullptr; }
};

// Returns true if there is a reply and it is no error.
inline bool IsGood(const RedisOutcome& outcome) { return outcome.answered() && !IsError(*outcome.reply); }

struct RedisCommand {
  std::string text;   // made by FormatRedisCommand
  uint16_t slot = 0;  // slot of its keys (redis_slot.h); only a cluster uses it
};

// A call on its way. The object that has it at the moment owns it.
struct RedisCall {
  // Gets the outcome instead of `done`. The handler owns the call then: it must answer the call or send it again.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void OnOutcome(std::unique_ptr<RedisCall> call, RedisOutcome outcome) = 0;
  };

  std::string command;  // made by FormatRedisCommand
  uint16_t slot = 0;    // slot of its keys, which must all be in the same one (redis_slot.h); only a cluster uses it
  TimePoint deadline;   // at this time the call is answered without a reply, whether it waits or was sent
  // How often the call was sent again, after answers that say that it was not executed (NOSCRIPT, MOVED, ASK).
  uint8_t sent_again = 0;
  bool asking = false;  // the command ASKING must be sent before it, to a node of a cluster (redis_cluster.h)
  // Called exactly once, on the loop's thread (redis_loop.h); must not block.
  std::function<void(RedisOutcome)> done;
  // Called at most once, on the loop's thread, if the reply comes after the call was answered without one. Not called
  // if the connection breaks, if too many calls wait for late replies, or if the reply comes much too late (kMostLate
  // and kHearsLate in redis_connection.h). In `call` only `command`, `slot` and `late` are set.
  using Late = std::function<void(RedisCall& call, const redisReply& reply)>;
  Late late = {};

  Handler* handler = nullptr;  // gets the outcome first; null: `done` gets it

  // Passes the outcome to the handler, if there is one, or else to `done`. The handler is removed from the call before
  // that, so it gets one outcome only. After `done` the call is destroyed.
  static void Answer(std::unique_ptr<RedisCall> call, RedisOutcome outcome) {
    if (Handler* handler = std::exchange(call->handler, nullptr))
      return handler->OnOutcome(std::move(call), std::move(outcome));
    call->done(std::move(outcome));
  }
};
using RedisCallPtr = std::unique_ptr<RedisCall>;

}  // namespace weir
