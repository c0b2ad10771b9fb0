// LiveHistory: the figures of a relay over the last ten minutes, one row each second, in fixed columns. It is a ring of
// 600 rows, which takes 90 KB from the start.
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

// The columns of a row. "Write", "Bulk" and "Read" are the classes of work that the throttle limits. A column without a
// value has kNothing, such as a limit while the gate is open, or a latency if there was nothing to measure.
enum class LiveFigure : uint8_t {
  kLevelWrite,     // level of the signal that limits the class, else the highest level; at 1.0 the engine would brake
  kSetpointWrite,  // the level at which the controller holds the class
  kLevelBulk,
  kSetpointBulk,
  kLevelRead,
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
  kMemory,        // bytes that count against the target
  kMemoryTarget,  // bytes
  kCpu,           // cores that the process used
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

// The figures of one second. A new row has no values.
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
