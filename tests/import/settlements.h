// Settlements: collects the chunks that a pipeline has settled, and waits for them.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "import/pipeline.h"

namespace weir {

class Settlements {
 public:
  Pipeline::OnSettled Callback() {
    return [this](SettledChunk settled) {
      const std::lock_guard lock(mutex_);
      EXPECT_EQ(settled.chunk.begin.bytes, bytes_) << "out of order";
      bytes_ = settled.chunk.end.bytes;
      tally_ += settled.tally;
      rejects_ += settled.rejects.size();
      ++chunks_;
      changed_.notify_all();
    };
  }
  void WaitForBytes(uint64_t bytes) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::minutes(1), [&] { return bytes_ >= bytes; })) << bytes_;
  }
  Tally tally() const { return Locked(tally_); }
  uint64_t bytes() const { return Locked(bytes_); }
  uint64_t chunks() const { return Locked(chunks_); }
  uint64_t rejects() const { return Locked(rejects_); }

 private:
  template <typename T>
  T Locked(const T& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t bytes_ = 0;
  uint64_t chunks_ = 0;
  uint64_t rejects_ = 0;
  Tally tally_;
};

}  // namespace weir
