// RedisReplyBound: bounds the size of one reply that a hiredis reader accepts. hiredis itself has no bound: it
// allocates as many elements as an array announces, and stores a text until its end, however long it is.
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

  // Bounds the replies of `reader`. Call it before the reader has read anything. This object must outlive the reader.
  // It bounds one reader at a time: an earlier one must be gone.
  void Watch(redisReader* reader);

  // Returns true if the reply that is being read is too large, judged by what has come so far. The reader then returns
  // no reply. Call Watch first.
  bool IsExceeded() const { return exceeded_ || reader_->len - reader_->pos > limits_.bytes + kFraming; }
  // Says what is wrong if IsExceeded.
  std::string Problem() const;

 private:
  static constexpr size_t kFraming = 1024;  // bytes of the protocol around a text

  static void* CreateString(const redisReadTask* task, char* text, size_t bytes);
  // hiredis 1 counts elements in size_t, earlier versions in int.
  template <typename Count>
  static void* CreateArray(const redisReadTask* task, Count elements);
  static RedisReplyBound& Of(const redisReadTask* task);
  // Adds to the size of this reply. Returns false if the reply is too large.
  bool Counts(size_t bytes, size_t elements);

  const RedisReplyLimits limits_;
  redisReader* reader_ = nullptr;
  redisReplyObjectFunctions given_{};      // hiredis' own functions
  redisReplyObjectFunctions functions_{};  // the same, but with the two that count
  size_t bytes_ = 0;                       // in this reply
  size_t elements_ = 0;                    // in this reply
  bool exceeded_ = false;
};

}  // namespace weir
