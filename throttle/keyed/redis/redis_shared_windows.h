// RedisSharedWindows: windows of keys that all processes on one Redis count together. A lease takes one Lua script and
// one round trip, by the server's time; the leases of one moment are written together.
//
// Keys: `<prefix>:keyed:{<key>}:<window in ms>`, a string with the number of the window (since 1970) and how much of it
// is used. It expires a second after its window. Escaping as in URLs makes any name one key, and in a cluster one slot.
//
// Never more than the limit of a window is leased while the server keeps what it was told. If it fails over to a
// replica that had not heard yet, evicts keys, or loses its memory, up to the limit may be leased once more. If its
// clock steps back by less than a window, the window that had begun runs on; if by more, windows begin anew.
//
// The server is away if it gives no answer in `timeout` or an error, if there is no connection, or if a breaker is open
// (redis_server.h). Its later answers are lost for that window: less is admitted than could be, never more. When it
// answers again, it is asked again; a command is sent twice only if the server says that it has not executed it.
//
// Threads: any. A thread of its own runs the connections.
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

// Parses the script's answer to a wish; nullopt if the reply is no such answer.
std::optional<LeaseAnswer> ParseLease(const redisReply& reply, const LeaseWish& wish);

struct RedisSharedWindowsOptions {
  std::string prefix = "weir";
  RedisClientOptions client = {};
  // Told why the server is away, or, with an empty text, that it answers again. Runs on the connections' thread, so it
  // must not block.
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
