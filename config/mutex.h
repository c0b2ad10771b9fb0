// Mutex and MutexLock: a mutex and its lock that clang's thread safety analysis understands. An annotation states which
// mutex protects a member, and which mutex a function needs:
//
//   int64_t Count() const {
//     const MutexLock lock(mutex_);
//     return count_;
//   }
//   void Add() WEIR_REQUIRES(mutex_);         // the caller holds mutex_
//
//   mutable Mutex mutex_;
//   int64_t count_ WEIR_GUARDED_BY(mutex_) = 0;
//
// The linter and the builds with a sanitizer fail if such a member is used, or such a function called, without the
// mutex. The annotations are empty for other compilers. Use a std::condition_variable_any to wait, and annotate its
// condition, which runs with the mutex held:
//
//   changed_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return count_ > 0; });
#pragma once

#include <mutex>

#ifdef __clang__
#define WEIR_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define WEIR_THREAD_ANNOTATION(x)
#endif

// The member may be used only while the mutex is held.
#define WEIR_GUARDED_BY(mutex) WEIR_THREAD_ANNOTATION(guarded_by(mutex))
// The object that the pointer points to may be used only while the mutex is held.
#define WEIR_PT_GUARDED_BY(mutex) WEIR_THREAD_ANNOTATION(pt_guarded_by(mutex))
// The caller of the function holds the mutexes.
#define WEIR_REQUIRES(...) WEIR_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
// The caller of the function does not hold the mutexes, for example because the function locks them.
#define WEIR_EXCLUDES(...) WEIR_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
// The analysis skips the function. A comment beside it gives the reason.
#define WEIR_UNCHECKED_LOCKS WEIR_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace weir {

class WEIR_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  // The names are those of the standard, so that its templates accept a Mutex.
  void lock() WEIR_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() WEIR_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  bool try_lock() WEIR_THREAD_ANNOTATION(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

// Holds a mutex from construction to destruction, except between unlock() and lock().
class WEIR_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) WEIR_THREAD_ANNOTATION(acquire_capability(mutex)) : lock_(mutex) {}
  // Takes over a mutex that the caller has locked.
  MutexLock(Mutex& mutex, std::adopt_lock_t adopt) WEIR_REQUIRES(mutex) : lock_(mutex, adopt) {}
  ~MutexLock() WEIR_THREAD_ANNOTATION(release_capability()) = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() WEIR_THREAD_ANNOTATION(acquire_capability()) { lock_.lock(); }
  void unlock() WEIR_THREAD_ANNOTATION(release_capability()) { lock_.unlock(); }

 private:
  std::unique_lock<Mutex> lock_;
};

}  // namespace weir
