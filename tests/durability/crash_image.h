// The directory that a machine would have after a power cut, and the programs that work in it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/status.h"
#include "tests/fixtures/temp_directory.h"

namespace weir {

class PowerCut {
 public:
  PowerCut();

  // The directory that loses its power.
  std::filesystem::path data() const { return std::filesystem::path(directory_.path()) / "data"; }
  // Put this before a command that works in the directory: "LD_PRELOAD=… " and the place to keep synced data.
  std::string environment() const;

  // Turns `data` into what it would be if the power failed at this moment. No program may be using it.
  void Crash();
  // Makes the same image in another directory; programs may be running.
  std::filesystem::path Image();

 private:
  void Restore(const std::string& key, const std::filesystem::path& to) const;
  std::filesystem::path shadow() const { return std::filesystem::path(directory_.path()) / "shadow"; }

  TempDirectory directory_;
  int images_ = 0;
};

struct CommandResult {
  int code = 0;
  std::string out;
};
// Runs the command by `sh`. `out` has standard output and error together.
CommandResult RunCommand(const std::string& command);

}  // namespace weir
