#include "relay/siblings/redis_wire.h"

#include <poll.h>

#include <initializer_list>

#include "throttle/redis/redis_call.h"

namespace weir {
namespace {

timeval AsTimeval(Duration duration) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  return {.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
}

// Asks for one answer; null: none came.
RedisReply Ask(redisContext& context, std::initializer_list<std::string_view> words) {
  const std::string command = FormatRedisCommand(words);
  void* reply = nullptr;
  if (redisAppendFormattedCommand(&context, command.data(), command.size()) != REDIS_OK ||
      redisGetReply(&context, &reply) != REDIS_OK)
    return nullptr;
  return RedisReply(static_cast<redisReply*>(reply));
}

}  // namespace

Result<RedisEndpoint> RedisWire::ParseUrl(const std::string& url) {
  Result<RedisEndpoint> endpoint = ParseRedisUrl(url);
  if (!endpoint.ok()) return endpoint;
  if (endpoint.value().kind != RedisEndpoint::Kind::kStandalone || endpoint.value().tls)
    return Status::Error("a bus goes over one Redis, without TLS: redis://user:password@host:port");
  return endpoint;
}

Status RedisWire::Lost(const std::string& what) {
  publishes_.reset();
  subscribed_.reset();
  return Status::Error("Redis at " + Describe(endpoint_) + ": " + what);
}

Status RedisWire::Connect(const RedisAddress& address, Duration patience, Context* context) const {
  context->reset(redisConnectWithTimeout(address.host.c_str(), address.port, AsTimeval(patience)));
  if (*context == nullptr) return Status::Error("no memory");
  if ((*context)->err != 0) return Status::Error((*context)->errstr);
  redisSetTimeout(context->get(), AsTimeval(patience));
  if (endpoint_.password.empty()) return {};
  const RedisReply reply = endpoint_.user.empty() ? Ask(**context, {"AUTH", endpoint_.password})
                                                  : Ask(**context, {"AUTH", endpoint_.user, endpoint_.password});
  if (reply == nullptr) return Status::Error((*context)->errstr);
  return IsError(*reply) ? Status::Error(DescribeError(*reply)) : Status();
}

Status RedisWire::Connect(Duration patience) {
  Status connected;
  for (const RedisAddress& address : endpoint_.addresses) {
    connected = Connect(address, patience, &publishes_);
    if (connected.ok()) connected = Connect(address, patience, &subscribed_);
    if (connected.ok()) break;
  }
  if (!connected.ok()) return Lost(connected.message());
  const RedisReply reply = Ask(*subscribed_, {"SUBSCRIBE", channel_});
  if (reply == nullptr) return Lost(subscribed_->errstr);
  return IsError(*reply) ? Lost(DescribeError(*reply)) : Status();
}

Status RedisWire::Send(std::span<const std::string> messages, Duration patience) {
  if (publishes_ == nullptr) return Lost("not connected");
  redisSetTimeout(publishes_.get(), AsTimeval(patience));
  for (const std::string& message : messages) {
    const std::string command = FormatRedisCommand({"PUBLISH", channel_, message});
    if (redisAppendFormattedCommand(publishes_.get(), command.data(), command.size()) != REDIS_OK)
      return Lost(publishes_->errstr);
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    void* reply = nullptr;
    if (redisGetReply(publishes_.get(), &reply) != REDIS_OK) return Lost(publishes_->errstr);
    const RedisReply answer(static_cast<redisReply*>(reply));
    if (IsError(*answer)) return Lost(DescribeError(*answer));
  }
  return {};
}

Status RedisWire::Receive(const std::function<void(std::string_view message)>& on_message) {
  if (subscribed_ == nullptr) return Lost("not connected");
  // It would wait where there is nothing to read. What came with the answer to SUBSCRIBE is read already.
  pollfd socket{.fd = subscribed_->fd, .events = POLLIN, .revents = 0};
  if (poll(&socket, 1, 0) != 0 && redisBufferRead(subscribed_.get()) != REDIS_OK) return Lost(subscribed_->errstr);
  for (;;) {
    void* next = nullptr;
    if (redisGetReplyFromReader(subscribed_.get(), &next) != REDIS_OK) return Lost(subscribed_->errstr);
    if (next == nullptr) return {};
    const RedisReply reply(static_cast<redisReply*>(next));
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 && TextOf(*reply->element[0]) == "message")
      on_message(TextOf(*reply->element[2]));
  }
}

}  // namespace weir
