// LiveHistory: the figures of a relay over the last ten minutes, one row each second, in fixed columns. The object is a
// ring buffer of 600 rows, and takes 86 KB.
//
// Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace weir {

class JsonWriter;

// The columns of a row. "Write", "Bulk" and "Read" are the classes of work that the throttle limits: clients' writes,
// bulk writes such as imports, and reads. A level measures the load of the storage engine: 0 means that it is idle; at
// 1.0 the engine itself would begin to brake. A column that has no value contains LiveRow::kNothing: for example a
// limit while nothing is limited, or a latency while nothing is measured.
enum class LiveFigure : uint8_t {
  kLevelWrite,     // level of the signal that limits the class, or would limit it first
  kSetpointWrite,  // the level at which the controller tries to hold it
  kLevelBulk,
  kSetpointBulk,
  kLevelRead,  // highest level of the signals that act on reads
  kSetpointRead,
  kLimitWrite,  // bytes/s
  kLimitBulk,
  kScansAtOnce,  // number of scans that may run at once
  kDelayWrite,   // mean wait, in seconds, of the operations whose wait ended in this second
  kDelayBulk,
  kDelayRead,
  kWaitingWrite,  // number of operations that wait at the gates now
  kWaitingBulk,
  kWaitingRead,
  kAdmittedWrite,  // operations/s
  kAdmittedBulk,
  kAdmittedRead,
  kRefusedWrite,  // operations/s
  kRefusedBulk,
  kRefusedRead,
  kBytesWrite,  // admitted bytes/s
  kBytesBulk,
  kOkP50,  // seconds from an EVENT to its OK, over the last ten seconds
  kOkP99,
  kEoseP50,  // seconds from a REQ to its EOSE, over the last ten seconds
  kEoseP99,
  kConnections,
  kSubscriptions,
  kMemory,        // bytes that count against the memory target
  kMemoryTarget,  // bytes that the relay should use at most
  kCpu,           // processor cores that the process used on average
  kReceived,      // bytes/s from clients
  kSent,          // bytes/s to clients
};
inline constexpr auto kLiveFigureNames = std::to_array<std::string_view>({"level_write",   "setpoint_write",
                                                                          "level_bulk",    "setpoint_bulk",
                                                                          "level_read",    "setpoint_read",
                                                                          "limit_write",   "limit_bulk",
                                                                          "scans_at_once", "delay_write",
                                                                          "delay_bulk",    "delay_read",
                                                                          "waiting_write", "waiting_bulk",
                                                                          "waiting_read",  "admitted_write",
                                                                          "admitted_bulk", "admitted_read",
                                                                          "refused_write", "refused_bulk",
                                                                          "refused_read",  "bytes_write",
                                                                          "bytes_bulk",    "ok_p50",
                                                                          "ok_p99",        "eose_p50",
                                                                          "eose_p99",      "connections",
                                                                          "subscriptions", "memory",
                                                                          "memory_target", "cpu",
                                                                          "received",      "sent"});
inline constexpr size_t kLiveFigures = kLiveFigureNames.size();
static_assert(kLiveFigures == static_cast<size_t>(LiveFigure::kSent) + 1);

// The figures of one second. In a new row all of them are kNothing.
struct LiveRow {
  static constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

  LiveRow() { figures.fill(kNothing); }
  void Set(LiveFigure figure, double value) { figures[static_cast<size_t>(figure)] = static_cast<float>(value); }
  float operator[](LiveFigure figure) const { return figures[static_cast<size_t>(figure)]; }

  double at = 0;  // seconds since 1970
  std::array<float, kLiveFigures> figures;
};

class LiveHistory {
 public:
  static constexpr size_t kRows = 600;

  // Adds the newest row, and drops the oldest one if there are kRows already.
  void Add(const LiveRow& row);
  size_t size() const { return size_; }
  // Returns a row; row 0 is the oldest. `index` must be less than size().
  const LiveRow& operator[](size_t index) const { return rows_[(next_ + kRows - size_ + index) % kRows]; }

  // Writes {"at":[…],"level_write":[…],…}: a list for each column, the oldest row first, with null for no value.
  void Write(JsonWriter& json) const;

 private:
  std::array<LiveRow, kRows> rows_;
  size_t next_ = 0;
  size_t size_ = 0;
};

// Writes the figures of one row, without its time: {"level_write":0.31,…}.
void Write(const LiveRow& row, JsonWriter& json);

}  // namespace weir
