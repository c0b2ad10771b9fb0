// Neo4jMonitor: the load of a Neo4j server, for the throttle. It speaks to Community edition 5 over HTTP.
//
//   weir::Neo4jMonitor monitor(address, target_bytes);
//   monitor.Start();
//   …
//   const auto transaction = monitor.Begin(bytes);  // around each one that the program sends
//
// Signals:
//   transactions  open transactions, against a threshold: those that the server shows, or those of this program that
//                 have no answer, whichever are more. Over HTTP a request waits before its transaction begins, and the
//                 server does not show it then
//   latency       of the program's own transactions, the mean of the last sample or two, against a threshold
//   round_trip    of the monitor's own request, against the same threshold: it waits where all requests wait
//   heap          old generation after a collection, against its maximum; shown, does not act
//   own           bytes that the program reported by AddOwnBytes, against its budget
//   memory        of this process against the target
//
// The last two are known without the server, too (LoadMonitor::ProcessSample).
//
// It sends two statements in one request, at most every 500 ms, on a connection of its own. If a server that answered
// lately does not answer in time, the time-out counts as its round trip; if it refuses, or is silent for five
// time-outs, the sample has failed (LoadMonitor).
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
// Declares all but `monitor` and the budget, which every engine has.
void Declare(SettingTable& table, Neo4jMonitorSettings& settings);

// The figures behind the newest sample, for displays.
struct Neo4jDetails {
  uint64_t transactions = 0;  // shown by the server, without the monitor's
  uint64_t in_flight = 0;     // this program's, without an answer yet
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
  // Asks nothing before Start or SampleOnce, and then samples at most every 500 ms.
  Neo4jMonitor(Neo4jAddress address, uint64_t target_bytes, const Neo4jMonitorSettings& settings = {},
               const Clock& clock = Clock::System(), const MemoryFiles& files = {});

  // A transaction of the program's own, from its sending to its answer. The monitor must outlive it.
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
    // Marks it as failed: its end then gives back its place, but its size and time do not count.
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
