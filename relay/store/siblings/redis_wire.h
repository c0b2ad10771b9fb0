// RedisWire: a BusWire over PUBLISH and SUBSCRIBE of a Redis server.
#pragma once

#include <hiredis/hiredis.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "config/wire/redis/redis_call.h"
#include "config/wire/redis/redis_reply_bound.h"
#include "config/wire/redis/redis_url.h"
#include "relay/store/siblings/bus_wire.h"

namespace weir {

class RedisWire final : public BusWire {
 public:
  // `endpoint` is a result of ParseUrl. `channel` is the Redis channel that all relays on one store use.
  RedisWire(RedisEndpoint endpoint, std::string channel)
      : endpoint_(std::move(endpoint)), channel_(std::move(channel)) {}
  // Returns the server that the URL names. Returns an error if the URL is wrong, asks for TLS, or names sentinels or a
  // cluster instead of a single Redis.
  static Result<RedisEndpoint> ParseUrl(const std::string& url);

  Status Connect(Duration patience) override;
  int socket() const override { return subscribed_.context != nullptr ? subscribed_.context->fd : -1; }
  Status Send(std::span<const std::string> messages, Duration patience) override;
  Status Receive(const std::function<void(std::string_view message)>& on_message) override;
  size_t max_message_bytes() const override { return kMostMessageBytes; }
  std::string name() const override { return Describe(endpoint_); }

 private:
  static constexpr size_t kMostMessageBytes = size_t{16} << 20;
  static constexpr RedisReplyLimits kMostOfReply{.bytes = kMostMessageBytes + (1 << 20), .elements = 16};
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  using Context = std::unique_ptr<redisContext, Free>;

  // A connection, and the limits for its replies.
  struct Connection {
    RedisReplyBound bound{kMostOfReply};
    Context context;
  };

  static Status Problem(const Connection& connection);
  static RedisReply Next(Connection& connection);
  static RedisReply Ask(Connection& connection, std::initializer_list<std::string_view> words);
  Status Connect(const RedisAddress& address, Duration patience, Connection* connection) const;
  Status Lost(const std::string& what);

  const RedisEndpoint endpoint_;
  const std::string channel_;
  Connection publishes_;
  Connection subscribed_;
};

}  // namespace weir
