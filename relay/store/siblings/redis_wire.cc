#include "relay/store/siblings/redis_wire.h"

#include <poll.h>

#include <chrono>

namespace weir {
namespace {

timeval AsTimeval(Duration duration) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  return {.tv_sec = us / 1'000'000, .tv_usec = us % 1'000'000};
}

}  // namespace

Result<RedisEndpoint> RedisWire::ParseUrl(const std::string& url) {
  Result<RedisEndpoint> endpoint = ParseRedisUrl(url);
  if (!endpoint.ok()) return endpoint;
  if (endpoint.value().kind != RedisEndpoint::Kind::kStandalone || endpoint.value().tls)
    return Status::Error("a bus goes over one Redis, without TLS: redis://user:password@host:port");
  return endpoint;
}

// Returns the error of a connection that gave no reply.
Status RedisWire::Problem(const Connection& connection) {
  return Status::Error(connection.bound.IsExceeded() ? connection.bound.Problem() : connection.context->errstr);
}

// Returns the next reply, or null after an error; Problem then returns the error. Unlike redisGetReply, fails if a
// reply exceeds its bound.
RedisReply RedisWire::Next(Connection& connection) {
  redisContext* const context = connection.context.get();
  for (int all_is_written = 0; all_is_written == 0;)
    if (redisBufferWrite(context, &all_is_written) != REDIS_OK) return nullptr;
  for (;;) {
    void* reply = nullptr;
    if (redisGetReplyFromReader(context, &reply) != REDIS_OK) return nullptr;
    if (reply != nullptr) return RedisReply(static_cast<redisReply*>(reply));
    if (connection.bound.IsExceeded() || redisBufferRead(context) != REDIS_OK) return nullptr;
  }
}

RedisReply RedisWire::Ask(Connection& connection, std::initializer_list<std::string_view> words) {
  const std::string command = FormatRedisCommand(words);
  if (redisAppendFormattedCommand(connection.context.get(), command.data(), command.size()) != REDIS_OK) return nullptr;
  return Next(connection);
}

Status RedisWire::Lost(const std::string& what) {
  Status lost = Status::Error("Redis at " + Describe(endpoint_) + ": " + what);
  publishes_.context.reset();
  subscribed_.context.reset();
  return lost;
}

Status RedisWire::Connect(const RedisAddress& address, Duration patience, Connection* connection) const {
  Context& context = connection->context;
  context.reset(redisConnectWithTimeout(address.host.c_str(), address.port, AsTimeval(patience)));
  if (context == nullptr) return Status::Error("no memory");
  if (context->err != 0) return Status::Error(context->errstr);
  connection->bound.Watch(context->reader);
  redisSetTimeout(context.get(), AsTimeval(patience));
  if (endpoint_.password.empty()) return {};
  const RedisReply reply = endpoint_.user.empty() ? Ask(*connection, {"AUTH", endpoint_.password})
                                                  : Ask(*connection, {"AUTH", endpoint_.user, endpoint_.password});
  if (reply == nullptr) return Problem(*connection);
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
  const RedisReply reply = Ask(subscribed_, {"SUBSCRIBE", channel_});
  if (reply == nullptr) return Lost(Problem(subscribed_).message());
  return IsError(*reply) ? Lost(DescribeError(*reply)) : Status();
}

Status RedisWire::Send(std::span<const std::string> messages, Duration patience) {
  redisContext* const context = publishes_.context.get();
  if (context == nullptr) return Lost("not connected");
  redisSetTimeout(context, AsTimeval(patience));
  for (const std::string& message : messages) {
    const std::string command = FormatRedisCommand({"PUBLISH", channel_, message});
    if (redisAppendFormattedCommand(context, command.data(), command.size()) != REDIS_OK) return Lost(context->errstr);
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    const RedisReply answer = Next(publishes_);
    if (answer == nullptr) return Lost(Problem(publishes_).message());
    if (IsError(*answer)) return Lost(DescribeError(*answer));
  }
  return {};
}

Status RedisWire::Receive(const std::function<void(std::string_view message)>& on_message) {
  redisContext* const context = subscribed_.context.get();
  if (context == nullptr) return Lost("not connected");
  // Polls first, because redisBufferRead would wait if there is no input. Messages that arrived together with the
  // answer to SUBSCRIBE were read already.
  pollfd socket{.fd = context->fd, .events = POLLIN, .revents = 0};
  if (poll(&socket, 1, 0) != 0 && redisBufferRead(context) != REDIS_OK) return Lost(context->errstr);
  for (;;) {
    void* next = nullptr;
    if (redisGetReplyFromReader(context, &next) != REDIS_OK || (next == nullptr && subscribed_.bound.IsExceeded()))
      return Lost(Problem(subscribed_).message());
    if (next == nullptr) return {};
    const RedisReply reply(static_cast<redisReply*>(next));
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 && TextOf(*reply->element[0]) == "message")
      on_message(TextOf(*reply->element[2]));
  }
}

}  // namespace weir
