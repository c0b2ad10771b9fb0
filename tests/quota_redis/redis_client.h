// One connection to a Redis, for tests: asks and waits.
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/eventually.h"

namespace weir {

struct RedisAnswer {
  enum class Kind : uint8_t { kNone, kNil, kText, kInteger, kArray, kError };  // kNone: no answer came
  Kind kind = Kind::kNone;
  std::string text;  // of kText and kError, and what is wrong where there is none
  int64_t integer = 0;
  std::vector<RedisAnswer> items;

  bool ok() const { return kind != Kind::kNone && kind != Kind::kError; }
  bool is(std::string_view expected) const { return kind == Kind::kText && text == expected; }
  std::vector<std::string> texts() const;  // of the items
  // "master_link_status" of an INFO or CLUSTER INFO; empty where there is no such line.
  std::string Field(std::string_view name) const;
  // Of an array of names and values.
  std::string Value(std::string_view name) const;
};

// Not for several threads. Connects when it is asked, and again after a failure.
class RedisClient {
 public:
  explicit RedisClient(uint16_t port, std::string user = "", std::string password = "", std::string host = "127.0.0.1");

  RedisAnswer Command(const std::vector<std::string>& arguments);
  void Close() { context_.reset(); }

 private:
  RedisAnswer Ask(const std::vector<std::string>& arguments);
  RedisAnswer Connect();

  const std::string host_;
  const uint16_t port_;
  const std::string user_;
  const std::string password_;
  std::unique_ptr<redisContext, decltype(&redisFree)> context_{nullptr, &redisFree};
};

}  // namespace weir
