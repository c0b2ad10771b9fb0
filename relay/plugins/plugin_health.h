// PluginHealth: counts the answers and the faults of a policy plugin, and logs its faults and its messages.
//
// A fault of one kind is logged when it first occurs, and then again only after a minute without one of its kind, so
// that a broken plugin does not fill the log. The next line says how many were left out.
//
// Threads: NoteAnswer, NoteFault and Log run on the plugin's thread (policy_plugin.h); any thread may call the others.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "config/clock.h"
#include "relay/net/log_limit.h"
#include "relay/observe/metrics/latency_metric.h"
#include "relay/plugins/plugin_lines.h"

namespace weir {

// kStart: a process could not be started. kEnded: a process has ended by itself, or was ended because it answered
// nothing. kTimeout: a question had no answer in time. kGarbage: a line that is no answer. kUnasked: an answer without
// a question, such as a second one.
enum class PluginFault : uint8_t { kStart, kEnded, kTimeout, kGarbage, kUnasked };
inline constexpr size_t kPluginFaults = 5;

struct PluginStats {
  std::array<uint64_t, kPluginActions> answers{};  // by PluginAction
  std::array<uint64_t, kPluginFaults> faults{};    // by PluginFault
  uint64_t unanswered = 0;                         // questions that had no answer, for whatever reason
  uint64_t starts = 0;                             // processes that were started
  uint64_t under_way = 0;                          // questions without an answer yet
  uint64_t processes = 0;                          // processes that take questions now
  LatencySnapshot latency;                         // from a question to its answer
};

class PluginHealth {
 public:
  // `name` is for messages: "write plugin". The clock must outlive the object.
  PluginHealth(std::string name, const Clock& clock) : name_(std::move(name)), clock_(clock) {}

  void NoteAnswer(PluginAction action, Duration latency);
  void NoteUnanswered();
  void NoteStart() { ++starts_; }
  void NoteProcesses(uint64_t processes) { processes_ = processes; }
  // Counts a fault, and logs it as described above. `what` is a sentence without its subject: "ended with status 1".
  void NoteFault(PluginFault fault, std::string_view what);
  // Logs a line that the plugin has written to its standard error, at most ten in a second.
  void Log(std::string_view line);

  // Returns true if the newest question that is settled was settled without an answer.
  bool fails() const { return fails_; }
  PluginStats Stats() const;  // without `under_way`
  const std::string& name() const { return name_; }

 private:
  // The faults of one kind that follow each other within a minute.
  struct Episode {
    bool begun = false;
    TimePoint last;         // when the last fault came
    uint64_t left_out = 0;  // faults since the last line in the log
  };
  using Counter = std::atomic<uint64_t>;

  const std::string name_;
  const Clock& clock_;
  std::array<Counter, kPluginActions> answers_{};
  std::array<Counter, kPluginFaults> faults_{};
  Counter unanswered_{0};
  Counter starts_{0};
  Counter processes_{0};
  std::atomic<bool> fails_{false};
  LatencyMetric latency_;
  std::array<Episode, kPluginFaults> episodes_{};
  LogLimit lines_;
};

}  // namespace weir
