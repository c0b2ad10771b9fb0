// RedisReplyBound: bounds the size of one reply of a server. hiredis accepts what comes: it makes room for as many
// elements as an array announces, and keeps a text until its end, however far that is.
#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <string>

#include "throttle/redis/redis_client_options.h"

namespace weir {

class RedisReplyBound {
 public:
  explicit RedisReplyBound(const RedisReplyLimits& limits) : limits_(limits) {}
  RedisReplyBound(const RedisReplyBound&) = delete;
  RedisReplyBound& operator=(const RedisReplyBound&) = delete;

  // Watches a reader, which it outlives, from its first reply on. It replaces an earlier reader, which is gone.
  void Watch(redisReader* reader);

  // True if the reply that is being read is too large, as far as it has come. The reader then gives none.
  bool IsExceeded() const { return exceeded_ || reader_->len - reader_->pos > limits_.bytes + kFraming; }
  // Says what is wrong then.
  std::string Problem() const;

 private:
  static constexpr size_t kFraming = 1024;

  static void* CreateString(const redisReadTask* task, char* text, size_t bytes);
  // hiredis 1 counts elements in size_t, earlier versions in int.
  template <typename Count>
  static void* CreateArray(const redisReadTask* task, Count elements);
  static RedisReplyBound& Of(const redisReadTask* task);
  bool Counts(size_t bytes, size_t elements);

  const RedisReplyLimits limits_;
  redisReader* reader_ = nullptr;
  redisReplyObjectFunctions given_{};  // hiredis' own
  redisReplyObjectFunctions functions_{};
  size_t bytes_ = 0;  // in this reply
  size_t elements_ = 0;
  bool exceeded_ = false;
};

}  // namespace weir
