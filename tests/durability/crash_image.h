// Makes the directory that a machine would have after a power cut, and runs the programs that work in it.
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
  // Returns "LD_PRELOAD=… " and the variable that names the directory for synced data. Put it before each command that
  // works in the directory.
  std::string environment() const;

  // Changes data() to what it would be if the power failed at this moment. REQUIRES: no program uses the directory.
  void Crash();
  // Makes this image in another directory and returns its path. Programs may be using data().
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
// Runs the command with `sh`. The `out` of the result has standard output and standard error together.
CommandResult RunCommand(const std::string& command);

}  // namespace weir
