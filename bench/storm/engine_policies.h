// What RocksDB offers by itself.
#pragma once

#include <atomic>

#include "bench/storm/policy.h"

namespace weir {

// Everybody writes; RocksDB brakes everybody.
class AlonePolicy : public Policy {
 public:
  explicit AlonePolicy(double l0_slowdown_files) : l0_slowdown_files_(static_cast<int>(l0_slowdown_files)) {}
  void Adapt(StormEngine::Options& options) const override;
  WriteResult Write(Party party, rocksdb::WriteBatch& batch) override;

 private:
  const int l0_slowdown_files_;
};

// Bulk writes wait as soon as compactions are behind. RocksDB's limiter for them asserts that a batch is smaller than a
// tenth of a second of their rate, which falls with the delayed rate, and Debian's RocksDB is built with assertions.
class LowPriPolicy : public AlonePolicy {
 public:
  explicit LowPriPolicy(double values_in_batch) : AlonePolicy(12), largest_batch_(static_cast<int>(values_in_batch)) {}
  WriteResult Write(Party party, rocksdb::WriteBatch& batch) override;
  int LargestBatch() const override { return largest_batch_; }

 private:
  const int largest_batch_;
};

// The same two with what weir does to the flushes when it prepares a database, so that this is not taken for control.
class AloneMergedPolicy final : public AlonePolicy {
 public:
  explicit AloneMergedPolicy(double) : AlonePolicy(12) {}
  void Adapt(StormEngine::Options& options) const override;
};
class LowPriMergedPolicy final : public LowPriPolicy {
 public:
  using LowPriPolicy::LowPriPolicy;
  void Adapt(StormEngine::Options& options) const override;
};

// A bulk write that would have to wait fails instead, and its client tries again: after 1 ms, then twice as long each
// time, up to 100 ms.
class NoSlowdownPolicy final : public AlonePolicy {
 public:
  using AlonePolicy::AlonePolicy;
  WriteResult Write(Party party, rocksdb::WriteBatch& batch) override;
  void Stop() override { stopped_ = true; }

 private:
  std::atomic<bool> stopped_{false};
};

// The RateLimiter chooses what flushes and compactions may write, up to what the disk gives.
class AutoTunedPolicy final : public AlonePolicy {
 public:
  explicit AutoTunedPolicy(double) : AlonePolicy(12) {}
  void Adapt(StormEngine::Options& options) const override;
};

class BufferStallPolicy final : public AlonePolicy {
 public:
  explicit BufferStallPolicy(double mebibytes) : AlonePolicy(12), mebibytes_(mebibytes) {}
  void Adapt(StormEngine::Options& options) const override;

 private:
  const double mebibytes_;
};

class RaisedPolicy final : public AlonePolicy {
 public:
  explicit RaisedPolicy(double) : AlonePolicy(12) {}
  void Adapt(StormEngine::Options& options) const override { options.move_brakes = true; }
};

}  // namespace weir
