// RedisSharedWindows: counts the windows of keys in a Redis, together with all other processes that use the Redis. A
// lease takes one call of a Lua script in one round trip, by the server's clock; questions of the same moment are
// written together.
//
// The key in Redis is `<prefix>:keyed:{<key>}:<window in ms>`. Its value has the number of the window (since 1970) and
// how many grants of it are leased, and expires a second after the window. <key> is escaped as in a URL, so any name is
// allowed; a cluster keeps all windows of a key in one slot.
//
// No more than the limit is leased in a window while the server keeps its data. If it fails over to a replica that is
// behind, evicts keys, or loses its memory, up to the limit may be leased once more. If its clock steps back by less
// than a window, the current window runs on; if by more, the windows begin anew.
//
// The server is away (shared_lease.h) if it does not answer within RedisClientOptions::timeout or answers with an
// error, if there is no connection, or if a breaker is open (redis_server.h). Grants in answers that come too late are
// lost: fewer requests than allowed may be granted, but never more. A command is sent twice only if the server says
// that it has not executed it.
//
// Threads: every function may be called from any thread. The object's own thread runs the connections.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "throttle/keyed/shared_windows.h"
#include "throttle/redis/redis_client_options.h"
#include "throttle/redis/redis_url.h"

struct redisReply;

namespace weir {

// Parses the script's answer to a wish; returns nullopt if the reply is no such answer.
std::optional<LeaseAnswer> ParseLease(const redisReply& reply, const LeaseWish& wish);

struct RedisSharedWindowsOptions {
  std::string prefix = "weir";
  RedisClientOptions client = {};
  // Called with the problem when the server stops answering, and with an empty text when it answers again. Runs on the
  // connections' thread, so it must not block.
  std::function<void(const std::string& problem)> on_change = [](const std::string&) {};
};

class RedisSharedWindows final : public SharedWindows {
 public:
  // Does not wait for a connection.
  explicit RedisSharedWindows(const RedisEndpoint& endpoint, RedisSharedWindowsOptions options = {});
  ~RedisSharedWindows() override;

  void Ask(const LeaseWish& wish, std::function<void(const LeaseAnswer&)> done) override;
  SharedWindowsHealth Health() const override;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
