// A policy: decides when each party may write, and which options the engine gets for it. All policies face the same
// load on the same database; only the policy differs.
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

// The present state of a policy, for the time line.
struct PolicyView {
  double bulk_bytes_per_second = std::numeric_limits<double>::infinity();  // its limit
  std::string_view reason;
};

class Policy {
 public:
  virtual ~Policy() = default;

  // Called before the engine is opened.
  virtual void Adapt(StormEngine::Options&) const {}
  // The engine and its monitor run until Stop has returned. Stop releases all waiters.
  virtual void Start(StormEngine& engine) { db_ = &engine.db(); }
  virtual void Stop() {}

  // Blocks as the policy wants, then writes. Any thread may call it.
  virtual WriteResult Write(Party party, rocksdb::WriteBatch& batch) = 0;
  // The same for a read that touches about this many bytes. Returns false if it was refused; then `read` was not
  // called.
  virtual bool Read(Party party, uint64_t bytes, const std::function<void()>& read);
  virtual PolicyView View() const { return {}; }
  // The most values in one batch, if the policy cannot take as many as the load brings.
  virtual int LargestBatch() const { return std::numeric_limits<int>::max(); }

 protected:
  rocksdb::DB& db() { return *db_; }

 private:
  rocksdb::DB* db_ = nullptr;
};

struct PolicyKind {
  std::string name;
  std::string meaning;
  std::string knob;     // the value that a sweep varies; empty: none
  double default_knob;  // NaN: as the policy has it
};
const std::vector<PolicyKind>& PolicyKinds();

// `spec` is a name, or a name and a value of its knob: weir, static@5.5. The settings are for weir's policies.
Result<std::unique_ptr<Policy>> MakePolicy(const std::string& spec, const StormShape& shape,
                                           const LimiterSettings& settings);

}  // namespace weir
