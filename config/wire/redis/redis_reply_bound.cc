#include "config/wire/redis/redis_reply_bound.h"

namespace weir {

void RedisReplyBound::Watch(redisReader* reader) {
  reader_ = reader;
  exceeded_ = false;
  functions_ = given_ = *reader->fn;
  functions_.createString = CreateString;
  functions_.createArray = CreateArray;
  reader_->fn = &functions_;
  reader_->privdata = this;
}

std::string RedisReplyBound::Problem() const {
  return "it answers more than " + std::to_string(limits_.bytes) + " bytes or " + std::to_string(limits_.elements) +
         " elements at once";
}

RedisReplyBound& RedisReplyBound::Of(const redisReadTask* task) {
  auto& self = *static_cast<RedisReplyBound*>(task->privdata);
  if (task->parent == nullptr) self.bytes_ = self.elements_ = 0;
  return self;
}

bool RedisReplyBound::Counts(size_t bytes, size_t elements) {
  exceeded_ = exceeded_ || bytes > limits_.bytes - bytes_ || elements > limits_.elements - elements_;
  if (exceeded_) return false;
  bytes_ += bytes;
  elements_ += elements;
  return true;
}

void* RedisReplyBound::CreateString(const redisReadTask* task, char* text, size_t bytes) {
  RedisReplyBound& self = Of(task);
  return self.Counts(bytes, 0) ? self.given_.createString(task, text, bytes) : nullptr;
}

template <typename Count>
void* RedisReplyBound::CreateArray(const redisReadTask* task, Count elements) {
  RedisReplyBound& self = Of(task);
  return self.Counts(0, static_cast<size_t>(elements)) ? self.given_.createArray(task, elements) : nullptr;
}

}  // namespace weir
