// RedisSharedWindows: stores the windows of keys in a Redis, so that all processes that use this Redis share them
// (shared_windows.h). A lease takes one call of a Lua script, in one round trip; the script reads the server's clock.
// Calls that are made at the same moment are sent with one write.
//
// The key in Redis is `<prefix>:keyed:{<key>}:<window in ms>`. Its value has the number of the window (since 1970) and
// how many grants of the window are leased. It expires a second after the window. <key> is escaped as in a URL, so any
// name is allowed. A Redis Cluster keeps all windows of a key in one hash slot, because of the braces.
//
// While the server keeps its data, it leases at most the limit in each window. If it fails over to a replica that is
// behind, evicts keys, or loses its memory, it may lease up to the limit once more. If its clock steps back by less
// than a window, the current window continues; if by more, the counts of the windows begin at 0 again.
//
// The server is away (shared_lease.h) if it does not answer within RedisClientOptions::timeout or answers with an
// error, if there is no connection, or if the circuit breaker is open (redis_breaker.h). Grants in answers that come
// too late are lost: fewer requests than allowed may then be granted, but never more. A command is sent again only if
// the server says that it has not executed it.
//
// Threads: any thread may call any function. The object has a thread of its own, which runs the connections.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "config/wire/redis/redis_client_options.h"
#include "config/wire/redis/redis_url.h"
#include "throttle/limits/keyed/shared_windows.h"

struct redisReply;

namespace weir {

// Parses the script's answer to `wish`. Returns nullopt if the reply does not have the form of such an answer.
std::optional<LeaseAnswer> ParseLease(const redisReply& reply, const LeaseWish& wish);

struct RedisSharedWindowsOptions {
  std::string prefix = "weir";
  RedisClientOptions client = {};
  // Called with a description of the problem when the server stops answering, and with an empty text when it answers
  // again. Runs on the connections' thread, so it must not block.
  std::function<void(const std::string& problem)> on_change = [](const std::string&) {};
};

class RedisSharedWindows final : public SharedWindows {
 public:
  // Returns without waiting for a connection.
  explicit RedisSharedWindows(const RedisEndpoint& endpoint, RedisSharedWindowsOptions options = {});
  ~RedisSharedWindows() override;

  void Ask(const LeaseWish& wish, std::function<void(const LeaseAnswer&)> done) override;
  SharedWindowsHealth Health() const override;

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace weir
