// HandleTable: gives objects numbers that a program in another language can hold. A number is never given again, so one
// that has ended is noticed.
//
// Threads: any thread may call any function.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "config/mutex.h"

namespace weir {

template <typename T>
class HandleTable {
 public:
  uint64_t Add(std::shared_ptr<T> object) {
    const MutexLock lock(mutex_);
    objects_.emplace(++last_, std::move(object));
    return last_;
  }
  // Returns null if there is no such handle.
  std::shared_ptr<T> Find(uint64_t handle) const {
    const MutexLock lock(mutex_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  // Ends the handle. Returns its object, which may still be in use; null if there is no such handle.
  std::shared_ptr<T> Take(uint64_t handle) {
    const MutexLock lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

  // Around fork(): a child could otherwise get a lock that another thread of the parent held.
  void Lock() WEIR_UNCHECKED_LOCKS { mutex_.lock(); }
  void Unlock() WEIR_UNCHECKED_LOCKS { mutex_.unlock(); }

 private:
  mutable Mutex mutex_;
  std::map<uint64_t, std::shared_ptr<T>> objects_ WEIR_GUARDED_BY(mutex_);
  uint64_t last_ WEIR_GUARDED_BY(mutex_) = 0;
};

}  // namespace weir
