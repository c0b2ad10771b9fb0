// Mutex, MutexLock and Condition: a mutex, its lock and a condition variable that clang's thread safety analysis
// understands. An annotation states which mutex protects a member, and which mutex a function needs:
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
// mutex. The annotations are empty for other compilers. Annotate what a thread waits for, too, because it is evaluated
// with the mutex held:
//
//   changed_.wait(lock, [this]() WEIR_REQUIRES(mutex_) { return count_ > 0; });
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

#ifdef __clang__
#define WEIR_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define WEIR_THREAD_ANNOTATION(x)
#endif

// The member may be used only while the mutex is held.
#define WEIR_GUARDED_BY(mutex) WEIR_THREAD_ANNOTATION(guarded_by(mutex))
// The caller of the function holds the mutexes.
#define WEIR_REQUIRES(...) WEIR_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
// The analysis skips the function. A comment beside it gives the reason.
#define WEIR_UNCHECKED_LOCKS WEIR_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace weir {

// The functions have the names of the standard, so that its templates accept these types.
class WEIR_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() WEIR_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() WEIR_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  bool try_lock() WEIR_THREAD_ANNOTATION(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  friend class MutexLock;
  friend class Condition;

  std::mutex mutex_;
};

// Holds a mutex from construction to destruction, except between unlock() and lock().
class WEIR_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) WEIR_THREAD_ANNOTATION(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
  ~MutexLock() WEIR_THREAD_ANNOTATION(release_capability()) = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() WEIR_THREAD_ANNOTATION(acquire_capability()) { lock_.lock(); }
  void unlock() WEIR_THREAD_ANNOTATION(release_capability()) { lock_.unlock(); }

 private:
  friend class Condition;

  std::unique_lock<std::mutex> lock_;
};

// Is a std::condition_variable for these locks. `holds` tells whether the wait is over; it must not throw. Use a
// std::condition_variable_any for a wait that a std::stop_token may end.
class Condition {
 public:
  template <typename Holds>
  void wait(MutexLock& lock, Holds holds) {
    changed_.wait(lock.lock_, std::move(holds));
  }
  template <typename Holds>
  void wait(Mutex& mutex, Holds holds) WEIR_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    changed_.wait(lock, std::move(holds));
    lock.release();
  }
  template <typename Time, typename Holds>
  bool wait_for(MutexLock& lock, const Time& time, Holds holds) {
    return changed_.wait_for(lock.lock_, time, std::move(holds));
  }
  template <typename Moment, typename Holds>
  bool wait_until(MutexLock& lock, const Moment& moment, Holds holds) {
    return changed_.wait_until(lock.lock_, moment, std::move(holds));
  }

  void notify_one() { changed_.notify_one(); }
  void notify_all() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace weir
