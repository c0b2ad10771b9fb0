// RedisCall: one command to a Redis server, with the callback that receives its outcome. Also helpers for replies.
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
#include "config/wire/redis/redis_slot.h"

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

// Returns true if `reply` is the error of a script that needs a key which is not on this server, because the cluster is
// moving the key's slot to this server or away from it.
bool IsKeyOnItsWay(const redisReply& reply);

// Returns the text of the error. For errors that weir knows, adds what the operator can do.
std::string DescribeError(const redisReply& reply);

// Returns the command in the form in which it is sent to the server (the protocol RESP).
std::string FormatRedisCommand(std::span<const std::string_view> words);
inline std::string FormatRedisCommand(std::initializer_list<std::string_view> words) {
  return FormatRedisCommand(std::span(words.begin(), words.size()));
}

// The outcome of a call: either the server's reply, which may be an error, or no reply.
struct RedisOutcome {
  RedisReply reply = nullptr;
  // If there is no reply: true if the server may nevertheless have executed the command.
  bool sent = false;
  // If there is no reply: names the server, and says what happened and what the operator can do. If the reply is an
  // error: the same, but only if a RedisServer sent the call; empty if the call was given directly to a
  // RedisConnection.
  std::string problem = {};

  bool answered() const { return reply != nullptr; }
};

// Returns true if there is a reply and it is not an error.
inline bool IsGood(const RedisOutcome& outcome) { return outcome.answered() && !IsError(*outcome.reply); }

struct RedisCommand {
  std::string text;   // made by FormatRedisCommand
  uint16_t slot = 0;  // the slot of its keys (redis_slot.h); only a cluster uses it
};

// A call that has no outcome yet. The object that handles the call at the moment owns it.
struct RedisCall {
  // Receives the outcome instead of `done`. The handler then owns the call, and must answer it or send it again.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void OnOutcome(std::unique_ptr<RedisCall> call, RedisOutcome outcome) = 0;
  };

  std::string command;  // made by FormatRedisCommand
  uint16_t slot = 0;    // the slot of its keys, which must be the same for all (redis_slot.h); only a cluster uses it
  TimePoint deadline;   // at this time the call is answered without a reply, even if it has not been sent yet
  // How often the call was sent again, after errors that say that it was not executed (NOSCRIPT, MOVED, ASK).
  uint8_t sent_again = 0;
  bool asking = false;  // the command ASKING must be sent before it, to a node of a cluster (redis_cluster.h)
  // Called exactly once, on the loop's thread (redis_loop.h); must not block.
  std::function<void(RedisOutcome)> done;
  // Called at most once, on the loop's thread, if the reply comes after the call was answered without a reply. Not
  // called if the connection breaks, if too many calls wait for late replies (kMostLate in redis_connection.h), or if
  // the reply comes much too late (kHearsLate there). In `call`, only `command`, `slot` and `late` are set.
  using Late = std::function<void(RedisCall& call, const redisReply& reply)>;
  Late late = {};

  Handler* handler = nullptr;  // receives the outcome; null: `done` receives it

  // Passes the outcome to the handler, if there is one, or else to `done`. Removes the handler from the call before, so
  // that the handler gets only one outcome. Destroys the call after `done`.
  static void Answer(std::unique_ptr<RedisCall> call, RedisOutcome outcome) {
    if (Handler* handler = std::exchange(call->handler, nullptr))
      return handler->OnOutcome(std::move(call), std::move(outcome));
    call->done(std::move(outcome));
  }
};
using RedisCallPtr = std::unique_ptr<RedisCall>;

}  // namespace weir
