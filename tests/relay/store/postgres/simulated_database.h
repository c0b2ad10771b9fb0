// SimulatedDatabase: a database that works on `cores` reads at once, in virtual time, and callers that read through
// pools from it. A read takes `latency` on the way, and then work on a core. Reads beyond `cores` share the cores, so
// further connections do not bring further reads, but make each read slower.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "relay/store/postgres/pool_size.h"

namespace weir {

class SimulatedDatabase {
 public:
  struct Pool {
    PoolSize size;
    size_t callers = 0;  // read again and again, without a pause
    size_t waiting = 0;  // callers that wait for a connection
    size_t in_use = 0;
    uint64_t reads = 0;
    size_t smallest = 0;  // sizes since ResetExtremes
    size_t largest = 0;
  };

  explicit SimulatedDatabase(uint64_t seed) : random_(seed) {}

  double cores = 4;
  double work_seconds = 0.001;  // the mean of an exponential distribution, on a core for itself
  double latency_seconds = 0;
  double loss = 0;  // the part of the cores' speed that each read beyond `cores` costs

  size_t AddPool(PoolBounds bounds, size_t callers) {
    pools_.push_back({.size = PoolSize(bounds, now_), .callers = 0, .smallest = bounds.least, .largest = bounds.least});
    SetCallers(pools_.size() - 1, callers);
    return pools_.size() - 1;
  }
  void SetCallers(size_t pool, size_t callers) {
    Pool& p = pools_[pool];
    if (callers > p.callers) p.waiting += callers - p.callers;
    p.callers = callers;
    p.waiting = std::min(p.waiting, callers);
    Note(p);
    Begin();
  }
  const Pool& pool(size_t number) const { return pools_[number]; }
  TimePoint now() const { return now_; }
  void ResetExtremes() {
    for (Pool& p : pools_) p.smallest = p.largest = p.size.now();
  }

  void Run(Duration duration) {
    const TimePoint end = now_ + duration;
    while (now_ < end) Step(end);
  }

 private:
  struct Read {
    size_t pool;
    TimePoint arrives;  // at the database
    double work;
  };

  // Advances to the next end of a read, or by at most 100 ms.
  void Step(TimePoint end) {
    const TimePoint begin = now_;
    TimePoint next = std::min(end, begin + std::chrono::milliseconds(100));
    size_t working = 0;
    double least = std::numeric_limits<double>::max();
    for (const Read& read : reads_) {
      if (read.arrives > begin) {
        next = std::min(next, read.arrives);
      } else {
        ++working;
        least = std::min(least, read.work);
      }
    }
    const double beyond = std::max(0.0, static_cast<double>(working) - cores);
    const double speed = working == 0 ? 0 : std::min(1.0, cores / static_cast<double>(working)) / (1 + loss * beyond);
    if (working > 0) next = std::min(next, begin + std::max(Duration(1), FromSeconds(std::min(1.0, least / speed))));
    now_ = next;
    const double done = ToSeconds(now_ - begin) * speed;
    std::vector<Read> left;
    std::vector<size_t> finished;
    for (Read& read : reads_) {
      if (read.arrives <= begin) read.work -= done;
      read.work <= 1e-12 ? finished.push_back(read.pool) : left.push_back(read);
    }
    reads_ = std::move(left);
    for (const size_t number : finished) {
      Pool& p = pools_[number];
      --p.in_use;
      ++p.reads;
      if (p.in_use + p.waiting < p.callers) ++p.waiting;
      p.size.Finished(now_, p.in_use, p.waiting);
    }
    for (Pool& p : pools_) Note(p);
    Begin();
  }
  void Begin() {
    for (size_t number = 0; number < pools_.size(); ++number) {
      Pool& p = pools_[number];
      for (; p.waiting > 0 && p.in_use < p.size.now(); Note(p)) {
        --p.waiting;
        ++p.in_use;
        reads_.push_back({number, now_ + FromSeconds(latency_seconds),
                          std::exponential_distribution<double>(1 / work_seconds)(random_)});
      }
    }
  }
  void Note(Pool& p) {
    p.size.Note(now_, p.in_use, p.waiting);
    p.smallest = std::min(p.smallest, p.size.now());
    p.largest = std::max(p.largest, p.size.now());
  }

  std::mt19937_64 random_;
  TimePoint now_ = TimePoint(std::chrono::hours(1));
  std::vector<Pool> pools_;
  std::vector<Read> reads_;
};

}  // namespace weir
