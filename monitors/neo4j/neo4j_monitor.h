// Neo4jMonitor: the LoadMonitor of a Neo4j server (Community edition 5), which it asks over HTTP.
//
//   weir::Neo4jMonitor monitor(address, target_bytes);
//   monitor.Start();
//   …
//   const auto transaction = monitor.Begin(bytes);  // for each one, before the program sends it
//
// Its signals (load_sample.h):
//   transactions  open transactions / their threshold. They are counted as the server shows them, or as this program's
//                 transactions without an answer, whichever number is higher: over HTTP a request may wait before its
//                 transaction begins, and the server does not show it until then
//   latency       mean latency of the program's transactions that ended in the last two intervals / its threshold
//   round_trip    latency of the monitor's own request / the same threshold: this request waits like all others
//   heap          the heap's old generation after a collection / its maximum; shown, limits nothing
//   own           bytes that the program reported by AddOwnBytes / their budget
//   memory        memory of this process / the memory target
//
// The signals own and memory are known even if the server does not answer (LoadMonitor::ProcessSample).
//
// The monitor sends two statements in one request, at most every 500 ms, on a connection of its own. If the server does
// not answer in time, but its last answer is at most five time-outs old, the time that the monitor has waited counts as
// the round trip. If the server refuses the request, or has not answered for longer, the sample fails (LoadMonitor),
// and the monitor asks again after a second.
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
  // A transaction takes longer than a write to an embedded engine, so the advice allows twice the latency.
  MonitorSettings monitor{.sample_interval = std::chrono::milliseconds(500),
                          .write_latency_threshold = std::chrono::milliseconds(100),
                          .read_latency_threshold = std::chrono::milliseconds(200)};
  std::chrono::milliseconds timeout{1000};           // for one request of the monitor
  uint64_t transaction_threshold = 15;               // transactions at which `transactions` is 1.0
  std::chrono::milliseconds latency_threshold{200};  // latency at which `latency` and `round_trip` are 1.0
  uint64_t own_budget_mb = 0;                        // MiB; 0: an eighth of the memory target
};
// Declares all settings except `monitor` and the budget, which the settings of the RocksDB monitor declare.
void Declare(SettingTable& table, Neo4jMonitorSettings& settings);

// The figures from which the newest good sample was computed, for displays. `own_bytes` and `memory` may be newer: they
// are also read while the server does not answer.
struct Neo4jDetails {
  uint64_t transactions = 0;  // open transactions that the server shows, except the monitor's
  uint64_t in_flight = 0;     // transactions of this program without an answer
  Duration latency{};         // mean, see the signal; 0: no transaction ended
  Duration round_trip{};
  uint64_t heap_bytes = 0;  // bytes in the old generation after a collection
  uint64_t max_heap_bytes = 0;
  uint64_t own_bytes = 0;
  MemoryUse memory;
};

class Neo4jProbe;

class Neo4jMonitor final : public LoadMonitor {
 public:
  // Sends nothing before Start or SampleOnce. Raises a sample interval below 500 ms to 500 ms.
  Neo4jMonitor(Neo4jAddress address, uint64_t target_bytes, const Neo4jMonitorSettings& settings = {},
               const Clock& clock = Clock::System(), const MemoryFiles& files = {});

  // A transaction of the program, from before it is sent until its answer has arrived: the destructor marks its end.
  // The monitor must outlive the transaction.
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
    // Marks the transaction as failed: its size and its latency are then not used.
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
  // Counts a transaction that writes about `bytes` bytes as begun. Any thread may call it, and destroy the result.
  [[nodiscard]] Transaction Begin(uint64_t bytes);

  // Reports memory of the program that grows with its load: `bytes` when it allocates them, and the same number below 0
  // when it frees them (own_bytes.h).
  void AddOwnBytes(int64_t bytes, OwnUse use = OwnUse::kHeld);
  uint64_t own_budget_bytes() const;

  Neo4jDetails Details() const;

 private:
  void End(const Transaction& transaction);
  Neo4jProbe& neo4j_;
};

}  // namespace weir
