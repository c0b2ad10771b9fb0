// ByteBudget: how many bytes all connections together may have between frame and OK.
//
// Whoever finds it spent stands in line and is told when its bytes have been taken for it, in the order of asking: no
// herd wakes, and nobody who asks for much is passed by those who ask for little. A request larger than the whole
// budget passes when nothing else is out.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

namespace weir {

class ByteBudget {
 public:
  // `count` is told of every change, for who watches the program's memory; may be empty.
  explicit ByteBudget(uint64_t bytes, std::function<void(int64_t)> count = {});

  // True: taken. False: `granted` will be called once, by the thread that gives back enough, when they are taken on the
  // caller's behalf; it should only hand over.
  bool Take(uint64_t bytes, std::function<void()> granted);
  void GiveBack(uint64_t bytes);
  // Nobody is told any more.
  void ForgetWaiting();

  uint64_t out() const;
  size_t waiting() const;

 private:
  struct Waiting {
    uint64_t bytes;
    std::function<void()> granted;
  };
  bool Fits(uint64_t bytes) const { return out_ == 0 || out_ + bytes <= bytes_; }

  const uint64_t bytes_;
  const std::function<void(int64_t)> count_;
  mutable std::mutex mutex_;
  uint64_t out_ = 0;
  std::deque<Waiting> waiting_;
};

}  // namespace weir
