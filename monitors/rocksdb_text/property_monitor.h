// PropertyMonitor: a LoadMonitor of a RocksDB that this library cannot call, because it is linked into another program
// or opened by another language. It measures the database by the texts of its properties, which every binding of every
// version has, and of its options (options_text.h).
//
//   auto monitor = PropertyMonitor::Attach(
//       [db](const std::string& family, const char* property, std::string* text) { … },
//       {.memory_target_bytes = 1400 << 20, .options = [] { return ReadNewestOptions("/var/lib/db"); }});
//
// The signals are those of RocksDbMonitor (monitors/README.md) except `buffers` and `own`.
//
// Threads: as LoadMonitor. The reader is called by the sampling thread, one call at a time; or, if the program calls
// SampleOnce and not Start, by the thread that calls it. A reader that fails, throws, hangs or answers nonsense makes
// the sample fail, and no more. After Detach the reader is not called again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "monitors/load_monitor.h"
#include "monitors/rocksdb_text/options_text.h"

namespace weir {

// Sets `text` to the value of the property of the column family. Returns false if the database does not answer.
using PropertyReader = std::function<bool(const std::string& family, const char* property, std::string* text)>;

// The options of a column family that the brakes are, by RocksDB's names.
using OptionValues = std::vector<std::pair<std::string, std::string>>;
// Sets these options of the open database, as DB::SetOptions does. Returns false if the database does not take them.
using OptionSetter = std::function<bool(const std::string& family, const OptionValues& values)>;

struct PropertyMonitorSettings {
  MonitorSettings monitor;
  uint64_t memory_target_bytes = 0;  // for the whole program; must be set
  // Returns the present options. Called at the beginning, and then every ten seconds, because they may change.
  std::function<Result<OptionsText>()> options;
  std::vector<std::string> families = {"default"};  // the column families to watch
  OptionSetter set_options;                         // null: the brakes stay where the program set them
  bool writes_are_limited = true;                   // false: a brake of RocksDB is no escape
  // Called with a sentence for the operator, in the thread that samples, if RocksDB brakes by itself (escape_watch.h).
  std::function<void(const std::string& event)> on_event;
};

class PropertyProbe;

class PropertyMonitor final : public LoadMonitor {
 public:
  // Returns an error if a setting is out of its range, if the options cannot be read or lack one of the families, or if
  // the first sample fails.
  static Result<std::unique_ptr<PropertyMonitor>> Attach(PropertyReader reader, PropertyMonitorSettings settings,
                                                         const Clock& clock = Clock::System());
  ~PropertyMonitor() override { Detach(); }

  // Moves RocksDB's brakes to higher loads, where it brakes later than a limiter acts, and gives them back to where the
  // program set them. Both do nothing without `set_options`. They return an error if RocksDB does not take the brakes.
  // A brake that the program sets itself meanwhile stays as it is.
  Status MoveBrakes();
  Status GiveBrakesBack();

  // Makes the monitor stop calling its functions; waits for a call that runs, so do not call Detach in one. Every later
  // sample fails.
  void Detach();

 private:
  PropertyMonitor(std::unique_ptr<PropertyProbe> probe, const MonitorSettings& settings, const Clock& clock);

  PropertyProbe& properties_;  // the probe that LoadMonitor owns
};

}  // namespace weir
