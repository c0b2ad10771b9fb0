// RedisSharedWindows: windows of keys that all processes on one Redis count together. One Lua script and one round trip
// a lease, by the server's time; the leases of one moment are written together.
//
// Keys: `<prefix>:keyed:{<key>}:<window in ms>`, a string with the number of the window (since 1970) and how much of it
// is used. It expires a second after its window. Escaped as in URLs, so any name is one key, and in a cluster one slot.
//
// Never more than the limit of a window is leased while the server keeps what it was told. It does not where it fails
// over to a replica that had not heard yet, evicts keys, or loses its memory: then up to the limit may be leased once
// more. Where its clock steps back by less than a window, the window that had begun runs on; by more, windows begin
// anew.
//
// Away: no answer in `timeout`, an error of the server, no connection, or a breaker that is open (redis_server.h). What
// it answers later is lost for that window: less is admitted than could be, never more. When it answers again it is
// asked again; nothing is sent twice but what the server says it has not executed.
//
// Threads: any. One of its own runs the connections.
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

// What the script answers to a wish; nothing where the reply is none of its.
std::optional<LeaseAnswer> ParseLease(const redisReply& reply, const LeaseWish& wish);

struct RedisSharedWindowsOptions {
  std::string prefix = "weir";
  RedisClientOptions client = {};
  // It is away, and why; or, with an empty text, it answers again. By the connections' thread; must not block.
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
