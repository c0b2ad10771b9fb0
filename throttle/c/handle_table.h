// HandleTable: gives objects numbers that a program in another language can hold. A number is never given again, nor by
// another table, so one that has ended, or is of another kind, is noticed.
//
// Threads: any thread may call any function.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "config/mutex.h"

namespace weir {

// Returns a number that no handle of any table has.
inline uint64_t NextHandle() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

template <typename T>
class HandleTable {
 public:
  uint64_t Add(std::shared_ptr<T> object) {
    const MutexLock lock(mutex_);
    const uint64_t handle = NextHandle();
    objects_.emplace(handle, std::move(object));
    return handle;
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
};

}  // namespace weir
