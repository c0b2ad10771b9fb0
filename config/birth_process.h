// BirthProcess: tells an object whether it is used in the process that made it, or in a child that fork() made of that
// process. A child has only the thread that called fork(). So in a child an object must not wait for its own threads,
// and must not lock a mutex that another thread may have held at the fork.
//
//   class Worker {
//     ~Worker() { if (!birth_.IsForked()) Stop(); }
//     const BirthProcess birth_;
//   };
//
// A child that is made without fork(), such as by vfork() or a bare clone(), is not noticed.
//
// Threads: any thread may call IsForked.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir {

namespace internal {
// The number of forks between the first process that made a BirthProcess and this one.
extern constinit std::atomic<uint32_t> forks_behind;
}  // namespace internal

class BirthProcess {
 public:
  BirthProcess();

  // Returns true in a child of the process that made this object. Costs one load.
  bool IsForked() const { return forks_ != internal::forks_behind.load(std::memory_order_relaxed); }

 private:
  uint32_t forks_;
};

}  // namespace weir
