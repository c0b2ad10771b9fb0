// RedisReplyBound: bounds the size of the replies that a hiredis reader accepts. hiredis itself has no practical bound:
// it allocates as many elements as an array announces, and stores a text until its end, however long it is.
#pragma once

#include <hiredis/hiredis.h>

#include <cstddef>
#include <string>

#include "config/wire/redis/redis_client_options.h"

namespace weir {

class RedisReplyBound {
 public:
  explicit RedisReplyBound(const RedisReplyLimits& limits) : limits_(limits) {}
  RedisReplyBound(const RedisReplyBound&) = delete;
  RedisReplyBound& operator=(const RedisReplyBound&) = delete;

  // Bounds the replies of `reader`. Call it before the reader has read anything. This object must outlive the reader,
  // and can bound only one reader at a time.
  void Watch(redisReader* reader);

  // Returns true if the part of the present reply that has been received is too large already. The reader then returns
  // no reply. REQUIRES: Watch has been called.
  bool IsExceeded() const { return exceeded_ || reader_->len - reader_->pos > limits_.bytes + kFraming; }
  // Describes the problem. REQUIRES: IsExceeded is true.
  std::string Problem() const;

 private:
  static constexpr size_t kFraming = 1024;  // bytes of the protocol around a text

  static void* CreateString(const redisReadTask* task, char* text, size_t bytes);
  // hiredis 1 counts elements in size_t, earlier versions in int.
  template <typename Count>
  static void* CreateArray(const redisReadTask* task, Count elements);
  static RedisReplyBound& Of(const redisReadTask* task);
  // Adds to the size of the present reply. Returns false if the reply is too large.
  bool Counts(size_t bytes, size_t elements);

  const RedisReplyLimits limits_;
  redisReader* reader_ = nullptr;
  redisReplyObjectFunctions given_{};      // the functions of hiredis
  redisReplyObjectFunctions functions_{};  // the same, except CreateString and CreateArray
  size_t bytes_ = 0;                       // bytes of the present reply
  size_t elements_ = 0;                    // elements of the present reply
  bool exceeded_ = false;
};

}  // namespace weir
