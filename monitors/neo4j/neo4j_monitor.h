// Neo4jMonitor: how a Neo4j behind a wire feels, for the throttle. Community edition 5, over HTTP.
//
//   weir::Neo4jMonitor monitor(address, target_bytes);
//   monitor.Start();
//   …
//   const auto transaction = monitor.Begin(bytes);  // around each that the program sends
//
// Signals:
//   transactions  that are open, against a threshold: those that the server shows, or those of this program that have
//                 no answer, whichever are more. Over HTTP requests wait before their transaction begins, where the
//                 server does not show them
//   latency       of the program's own transactions, the mean of the last sample or two, against a threshold
//   round_trip    of the monitor's own question, against the same: it waits where all wait
//   heap          what collections leave in the old generation, of what it may be; shown, does not act
//   own           what the program reported by AddOwnBytes, against its budget
//   memory        of this process against the target
//
// The last two are known without the server, too (LoadMonitor::ProcessSample).
//
// Two statements in one request, at most every 500 ms, on a connection of its own. Where a server that answered lately
// does not answer in time, the time-out is its round trip; one that refuses, or is silent for five time-outs, is a
// sample that failed (LoadMonitor).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "monitors/load_monitor.h"
#include "monitors/memory_probe.h"
#include "monitors/neo4j/neo4j_session.h"
#include "monitors/own_bytes.h"

namespace weir {

struct Neo4jMonitorSettings {
  MonitorSettings monitor{.sample_interval = std::chrono::milliseconds(500)};
  std::chrono::milliseconds timeout{1000};
  uint64_t transaction_threshold = 15;               // WEIR_RATE_LIMIT_NEO4J_TXN_THRESHOLD
  std::chrono::milliseconds latency_threshold{200};  // WEIR_RATE_LIMIT_NEO4J_LATENCY_THRESHOLD_MS
  uint64_t own_budget_mb = 0;                        // 0: an eighth of the memory target
};
// Without those of `monitor` and the budget, which every engine has.
void Declare(SettingTable& table, Neo4jMonitorSettings& settings);

// What stands behind the newest sample, for displays.
struct Neo4jDetails {
  uint64_t transactions = 0;  // that the server shows, but for the monitor's
  uint64_t in_flight = 0;     // of this program
  Duration latency{};
  Duration round_trip{};
  uint64_t heap_bytes = 0;  // in the old generation after a collection
  uint64_t max_heap_bytes = 0;
  uint64_t own_bytes = 0;
  MemoryUse memory;
};

class Neo4jProbe;

class Neo4jMonitor final : public LoadMonitor {
 public:
  // Nothing is asked before Start or SampleOnce. Sampled no oftener than every 500 ms.
  Neo4jMonitor(Neo4jAddress address, uint64_t target_bytes, const Neo4jMonitorSettings& settings = {},
               const Clock& clock = Clock::System(), const MemoryFiles& files = {});

  // A transaction of the program's own, from its sending to its answer. The monitor outlives it.
  class Transaction {
   public:
    Transaction(Neo4jMonitor& monitor, uint64_t bytes, TimePoint begun)
        : monitor_(&monitor), bytes_(bytes), begun_(begun) {}
    Transaction(Transaction&& other) noexcept
        : monitor_(std::exchange(other.monitor_, nullptr)),
          bytes_(other.bytes_),
          begun_(other.begun_),
          failed_(other.failed_) {}
    Transaction& operator=(Transaction&&) = delete;
    // At its end only its place is given back.
    void Failed() { failed_ = true; }
    ~Transaction() {
      if (monitor_ != nullptr) monitor_->End(*this);
    }

   private:
    friend class Neo4jMonitor;
    Neo4jMonitor* monitor_;
    uint64_t bytes_;
    TimePoint begun_;
    bool failed_ = false;
  };
  [[nodiscard]] Transaction Begin(uint64_t bytes);

  // Memory of the program that grows with its load.
  void AddOwnBytes(int64_t bytes, OwnUse use = OwnUse::kHeld);
  uint64_t own_budget_bytes() const;

  Neo4jDetails Details() const;

 private:
  void End(const Transaction& transaction);
  Neo4jProbe& neo4j_;
};

}  // namespace weir
