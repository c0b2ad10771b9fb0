// Policy: decides when each party may write, and with which options the engine is opened. The experiment compares
// policies under the same load on the same database.
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
  bool refused = false;  // true if the policy refused the write; then it did not write
  Duration retry_after{};
  Duration waited{};  // how long the write waited for the policy, without the time in the engine
};

// The present state of a policy, for the time line.
struct PolicyView {
  double bulk_bytes_per_second = std::numeric_limits<double>::infinity();  // limit of bulk work
  std::string_view reason;
};

class Policy {
 public:
  virtual ~Policy() = default;

  // Changes the options with which the engine will be opened.
  virtual void Adapt(StormEngine::Options&) const {}
  // Start begins the policy. The engine and its monitor must run until Stop has returned. Stop ends the waits of all
  // callers.
  virtual void Start(StormEngine& engine) { engine_ = &engine; }
  virtual void Stop() {}

  // Blocks until the policy admits or refuses the write; writes the batch if it was admitted. Any thread may call it.
  virtual WriteResult Write(Party party, rocksdb::WriteBatch& batch) = 0;
  // Blocks until the policy admits or refuses a read of about `bytes` bytes; calls `read` if it was admitted. Returns
  // false if it was refused.
  virtual bool Read(Party party, uint64_t bytes, const std::function<void()>& read);
  virtual PolicyView View() const { return {}; }
  // Returns the most values that one batch may have. The load makes no larger batches, except of what is ingested.
  virtual int LargestBatch() const { return std::numeric_limits<int>::max(); }

 protected:
  StormEngine& engine() const { return *engine_; }

 private:
  StormEngine* engine_ = nullptr;
};

struct PolicyKind {
  std::string name;
  std::string meaning;
  std::string knob;     // name of the value that a sweep varies; empty: there is none
  double default_knob;  // default of this value; NaN: the policy's own
};
const std::vector<PolicyKind>& PolicyKinds();

// Makes a policy. `spec` is its name, or its name and the value of its knob: "weir", "static@5.5". The settings are for
// weir's policies.
Result<std::unique_ptr<Policy>> MakePolicy(const std::string& spec, const StormShape& shape,
                                           const LimiterSettings& settings);

}  // namespace weir
