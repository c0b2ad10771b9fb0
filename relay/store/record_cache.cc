#include "relay/store/record_cache.h"

#include <cstring>

namespace weir {
namespace {

using Size = uint32_t;  // stands before the record

void Delete(const rocksdb::Slice&, void* value) { delete[] static_cast<char*>(value); }

}  // namespace

RecordCache::RecordCache(std::shared_ptr<rocksdb::Cache> cache) : cache_(std::move(cache)) {
  if (cache_) partition_ = cache_->NewId();
}

RecordCache::CacheKey RecordCache::KeyOf(uint64_t serial) const {
  CacheKey key;
  std::memcpy(key.data(), &partition_, sizeof partition_);
  std::memcpy(key.data() + sizeof partition_, &serial, sizeof serial);
  return key;
}

std::string_view RecordCache::Pin::record() const {
  const char* const value = static_cast<const char*>(cache_->Value(handle_));
  Size size = 0;
  std::memcpy(&size, value, sizeof size);
  return {value + sizeof size, size};
}

RecordCache::Pin RecordCache::Find(uint64_t serial) const {
  if (!cache_) return {};
  const CacheKey key = KeyOf(serial);
  return {cache_.get(), cache_->Lookup({key.data(), key.size()})};
}

void RecordCache::Keep(uint64_t serial, std::string_view record) const {
  if (!cache_) return;
  const CacheKey key = KeyOf(serial);
  const auto size = static_cast<Size>(record.size());
  char* const value = new char[sizeof size + record.size()];
  std::memcpy(value, &size, sizeof size);
  std::memcpy(value + sizeof size, record.data(), record.size());
  // The cache deletes the record at once where it has no room for it; that is no error.
  cache_->Insert({key.data(), key.size()}, value, sizeof size + record.size(), Delete).PermitUncheckedError();
}

}  // namespace weir
