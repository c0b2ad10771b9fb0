// RedisWire: a bus over PUBLISH and SUBSCRIBE of a Redis.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>

#include "relay/siblings/bus_wire.h"
#include "throttle/redis/redis_url.h"

namespace weir {

class RedisWire final : public BusWire {
 public:
  // One server, without TLS.
  RedisWire(RedisEndpoint endpoint, std::string channel)
      : endpoint_(std::move(endpoint)), channel_(std::move(channel)) {}
  static Result<RedisEndpoint> ParseUrl(const std::string& url);

  Status Connect(Duration patience) override;
  int socket() const override { return subscribed_ != nullptr ? subscribed_->fd : -1; }
  Status Send(std::span<const std::string> messages, Duration patience) override;
  Status Receive(const std::function<void(std::string_view message)>& on_message) override;
  size_t max_message_bytes() const override { return size_t{16} << 20; }
  std::string name() const override { return Describe(endpoint_); }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  using Context = std::unique_ptr<redisContext, Free>;

  Status Connect(const RedisAddress& address, Duration patience, Context* context) const;
  Status Lost(const std::string& what);

  const RedisEndpoint endpoint_;
  const std::string channel_;
  Context publishes_;
  Context subscribed_;
};

}  // namespace weir
