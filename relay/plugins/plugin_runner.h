// PluginRunner: one running process of a policy plugin: its pipes (plugin_process.h) and its questions
// (plugin_dialogue.h). Passes the lines that the process writes to its standard error to PluginHealth::Log, cut to
// kMostLogLine bytes.
//
// Not thread-safe. Only WaitForEnd, WhyOver and End block.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/clock.h"
#include "relay/plugins/plugin_dialogue.h"
#include "relay/plugins/plugin_health.h"
#include "relay/plugins/plugin_process.h"

namespace weir {

class PluginRunner {
 public:
  static constexpr size_t kMostLogLine = 1 << 10;

  PluginRunner(PluginProcess process, PluginHealth& health)
      : health_(health), process_(std::move(process)), dialogue_(health) {}

  PluginDialogue& dialogue() { return dialogue_; }
  const PluginDialogue& dialogue() const { return dialogue_; }

  // Writes the lines of questions, as many as the pipe takes.
  void Write();
  // Appends the descriptors for poll(). Read must then be called with the entries that this call appended.
  void AppendTo(std::vector<pollfd>* polled) const;
  static constexpr size_t kPolled = 4;  // the number of entries
  // Reads what the process has written, into `buffer`. Returns false if the process has ended, has closed its output,
  // or has closed its input while questions wait to be written.
  bool Read(std::span<const pollfd> polled, std::span<char> buffer, TimePoint now);

  // Closes the standard input of the process, so that it reads the end of the file and ends.
  void CloseInput(TimePoint now);
  std::optional<TimePoint> input_closed() const { return input_closed_; }  // when CloseInput was called
  // Blocks until the process has ended, at most for this time. Returns true if it has ended.
  bool WaitForEnd(std::chrono::milliseconds longest) const;
  // For a process for which Read has returned false: returns "" if it has ended, else what it has done instead. Waits
  // for a moment, because a process closes its pipes just before it ends.
  std::string WhyOver() const;
  // Calls PluginProcess::End.
  std::string End() { return process_.End(); }

 private:
  bool ReadOutput(std::span<char> buffer, TimePoint now);
  void ReadError(std::span<char> buffer);
  void LogLines(std::string_view bytes);

  PluginHealth& health_;
  PluginProcess process_;
  PluginDialogue dialogue_;
  std::string log_line_;  // the beginning of a line of standard error
  std::optional<TimePoint> input_closed_;
};

}  // namespace weir
