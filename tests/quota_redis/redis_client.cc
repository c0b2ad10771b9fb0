#include "tests/quota_redis/redis_client.h"

#include <utility>

namespace weir {

std::vector<std::string> RedisAnswer::texts() const {
  std::vector<std::string> texts;
  for (const RedisAnswer& item : items) texts.push_back(item.text);
  return texts;
}

std::string RedisAnswer::Field(std::string_view name) const {
  const std::string begin = std::string(name) + ":";
  for (size_t line = 0; line < text.size();) {
    const size_t end = std::min(text.find("\r\n", line), text.size());
    if (text.compare(line, begin.size(), begin) == 0) {
      return text.substr(line + begin.size(), end - line - begin.size());
    }
    line = end + 2;
  }
  return "";
}

std::string RedisAnswer::Value(std::string_view name) const {
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].text == name) return items[i + 1].text;
  }
  return "";
}

namespace {

RedisAnswer ToAnswer(const redisReply& reply) {
  RedisAnswer answer;
  if (reply.str != nullptr) answer.text.assign(reply.str, reply.len);
  answer.integer = reply.integer;
  switch (reply.type) {
    case REDIS_REPLY_ARRAY:
      answer.kind = RedisAnswer::Kind::kArray;
      for (size_t i = 0; i < reply.elements; ++i) answer.items.push_back(ToAnswer(*reply.element[i]));
      break;
    case REDIS_REPLY_INTEGER:
      answer.kind = RedisAnswer::Kind::kInteger;
      break;
    case REDIS_REPLY_NIL:
      answer.kind = RedisAnswer::Kind::kNil;
      break;
    case REDIS_REPLY_ERROR:
      answer.kind = RedisAnswer::Kind::kError;
      break;
    default:
      answer.kind = RedisAnswer::Kind::kText;
  }
  return answer;
}

}  // namespace

RedisClient::RedisClient(uint16_t port, std::string user, std::string password, std::string host)
    : host_(std::move(host)), port_(port), user_(std::move(user)), password_(std::move(password)) {}

RedisAnswer RedisClient::Command(const std::vector<std::string>& arguments) {
  if (!context_) {
    RedisAnswer connected = Connect();
    if (!connected.ok()) {
      context_.reset();
      return connected;
    }
  }
  RedisAnswer answer = Ask(arguments);
  if (answer.kind == RedisAnswer::Kind::kNone) context_.reset();
  return answer;
}

RedisAnswer RedisClient::Connect() {
  context_.reset(redisConnectWithTimeout(host_.c_str(), port_, timeval{.tv_sec = 10, .tv_usec = 0}));
  if (!context_ || context_->err != 0) return {.text = context_ ? context_->errstr : "no memory"};
  redisSetTimeout(context_.get(), timeval{.tv_sec = 30, .tv_usec = 0});
  if (password_.empty()) return {.kind = RedisAnswer::Kind::kNil};
  if (user_.empty()) return Ask({"AUTH", password_});
  return Ask({"AUTH", user_, password_});
}

RedisAnswer RedisClient::Ask(const std::vector<std::string>& arguments) {
  std::vector<const char*> texts;
  std::vector<size_t> lengths;
  for (const std::string& argument : arguments) {
    texts.push_back(argument.data());
    lengths.push_back(argument.size());
  }
  void* reply = redisCommandArgv(context_.get(), static_cast<int>(arguments.size()), texts.data(), lengths.data());
  if (reply == nullptr) return {.text = context_->errstr};
  RedisAnswer answer = ToAnswer(*static_cast<redisReply*>(reply));
  freeReplyObject(reply);
  return answer;
}

}  // namespace weir
