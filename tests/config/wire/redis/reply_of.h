// Parses a reply from a server's bytes. Returns null if they are not a reply, or not a whole one.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>

#include "config/wire/redis/redis_call.h"

namespace weir {

// Also returns null if the bytes announce an array of more than 9999 items, because hiredis allocates the whole array
// before the items come.
inline RedisReply ReplyOf(std::string_view wire) {
  constexpr size_t kMostDigits = 4;
  for (size_t at = 0; (at = wire.find('*', at)) != wire.npos; ++at)
    if (std::min(wire.find_first_not_of("0123456789", at + 1), wire.size()) - at - 1 > kMostDigits) return nullptr;
  const std::unique_ptr<redisReader, decltype(&redisReaderFree)> reader(redisReaderCreate(), &redisReaderFree);
  void* reply = nullptr;
  if (redisReaderFeed(reader.get(), wire.data(), wire.size()) != REDIS_OK) return nullptr;
  if (redisReaderGetReply(reader.get(), &reply) != REDIS_OK) return nullptr;
  return RedisReply(static_cast<redisReply*>(reply));
}

}  // namespace weir
