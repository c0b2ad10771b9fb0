// RedisCall: one command to a Redis server, with the callback that receives its outcome. This header also has helpers
// for commands and replies.
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

// Returns true if `reply` is the error of a script that needs a key which is not on this server. The usual reason is
// that the cluster is moving the key's slot to this server or away from it: the key is "on its way".
bool IsKeyOnItsWay(const redisReply& reply);

// Returns the text of the error. If weir knows the kind of the error, adds its cause, or what the operator can do.
std::string DescribeError(const redisReply& reply);

// Returns the command in the form in which it is sent to the server (the protocol RESP).
std::string FormatRedisCommand(std::span<const std::string_view> words);
inline std::string FormatRedisCommand(std::initializer_list<std::string_view> words) {
  return FormatRedisCommand(std::span(words.begin(), words.size()));
}

// The outcome of a call: either the server's reply, which may be an error, or no reply.
struct RedisOutcome {
  RedisReply reply = nullptr;
  // If there is no reply, true means that the server may have executed the command nevertheless. False if there is a
  // reply.
  bool sent = false;
  // Says what went wrong, if there is no reply, or if the reply is an error. Usually names the server, and may say what
  // the operator can do. Empty after a good reply. Also empty after an error if the call was given directly to a
  // RedisConnection, not to a RedisServer.
  std::string problem = {};

  bool answered() const { return reply != nullptr; }
};

// Returns true if there is a reply and it is not an error.
inline bool IsGood(const RedisOutcome& outcome) { return outcome.answered() && !IsError(*outcome.reply); }

struct RedisCommand {
  std::string text;   // made by FormatRedisCommand
  uint16_t slot = 0;  // the slot of its keys (redis_slot.h); only a cluster uses it
};

// A call that has no outcome yet. The object that must send it, or that waits for its reply, owns it. A call "ends"
// when its outcome is passed on.
struct RedisCall {
  // Receives the outcome instead of `done`. The handler then owns the call. It must pass on an outcome (Answer), or see
  // that the call is sent again.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void OnOutcome(std::unique_ptr<RedisCall> call, RedisOutcome outcome) = 0;
  };

  std::string command;  // made by FormatRedisCommand
  uint16_t slot = 0;    // the slot that all its keys must have (redis_slot.h); only a cluster uses it
  TimePoint deadline;   // at this time the call ends without a reply, even if it has not been sent yet
  // How often the call was sent again after MOVED or ASK, which say that it was not executed. A cluster sets this back
  // to 0 when it sends the call again after TRYAGAIN or for a key on its way.
  uint8_t sent_again = 0;
  uint8_t script_loads = 0;  // how often this call had the scripts loaded into the present server, after NOSCRIPT
  bool asking = false;       // true if ASKING must be sent just before it (RedisRedirection::ask)
  // Called exactly once, on the loop's thread (redis_loop.h); must not block.
  std::function<void(RedisOutcome)> done;
  // Called at most once, on the loop's thread, if the reply comes after the call has ended without a reply. Not called
  // if the connection breaks, if too many calls wait for late replies (kMostLate in redis_connection.h), or if the
  // server stops answering for longer than kHearsLate (there). Not called either if RedisServer drops the connection
  // for newer ones (kMostLingering in redis_server.h). In `call`, only `command`, `slot` and `late` are set.
  using Late = std::function<void(RedisCall& call, const redisReply& reply)>;
  Late late = {};

  Handler* handler = nullptr;  // receives the outcome; null: `done` receives it

  // Passes the outcome to the handler, if there is one, or else to `done`. First removes the handler from the call, so
  // a handler can call Answer to pass the outcome on to `done`. Destroys the call after `done`.
  static void Answer(std::unique_ptr<RedisCall> call, RedisOutcome outcome) {
    if (Handler* handler = std::exchange(call->handler, nullptr))
      return handler->OnOutcome(std::move(call), std::move(outcome));
    call->done(std::move(outcome));
  }
};
using RedisCallPtr = std::unique_ptr<RedisCall>;

}  // namespace weir
