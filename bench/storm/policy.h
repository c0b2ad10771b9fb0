// A policy: who may write when, and what the engine is told about it. All policies face the same load on the same
// database; only this differs.
#pragma once

#include <rocksdb/write_batch.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bench/storm/engine.h"
#include "throttle/adaptive_limiter.h"

namespace weir {

struct WriteResult {
  rocksdb::Status status;
  bool refused = false;  // by the policy, which did not write
  Duration retry_after{};
  Duration waited{};  // at the policy, not in the engine
};

// What a policy is doing, for the time line.
struct PolicyView {
  double bulk_bytes_per_second = std::numeric_limits<double>::infinity();  // its limit
  std::string_view reason;
};

class Policy {
 public:
  virtual ~Policy() = default;

  // Before the engine is opened.
  virtual void Adapt(StormEngine::Options&) const {}
  // The engine and its monitor run until Stop has returned. Stop lets go of everybody who waits.
  virtual void Start(StormEngine& engine) { db_ = &engine.db(); }
  virtual void Stop() {}

  // Blocks as the policy wants, then writes. Any thread.
  virtual WriteResult Write(Party party, rocksdb::WriteBatch& batch) = 0;
  // The same for a read that touches about this many bytes. False: refused, and `read` was not called.
  virtual bool Read(Party party, uint64_t bytes, const std::function<void()>& read);
  virtual PolicyView View() const { return {}; }
  // Values in one batch, where the policy cannot take as many as the load brings.
  virtual int LargestBatch() const { return std::numeric_limits<int>::max(); }

 protected:
  rocksdb::DB& db() { return *db_; }

 private:
  rocksdb::DB* db_ = nullptr;
};

struct PolicyKind {
  std::string name;
  std::string meaning;
  std::string knob;     // what a sweep varies; empty: nothing
  double default_knob;  // NaN: as the policy has it
};
const std::vector<PolicyKind>& PolicyKinds();

// `spec` is a name, or a name and a value of its knob: weir, static@5.5. Limiter settings are those of weir's policies.
Result<std::unique_ptr<Policy>> MakePolicy(const std::string& spec, const StormShape& shape,
                                           const LimiterSettings& settings);

}  // namespace weir
