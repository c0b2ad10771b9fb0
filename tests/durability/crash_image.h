// What a machine that lost its power would find of a directory, and programs that live in it.
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

  // The directory that is at stake.
  std::filesystem::path data() const { return std::filesystem::path(directory_.path()) / "data"; }
  // To be set before a command that lives in it: "LD_PRELOAD=… " and where to keep what is synced.
  std::string environment() const;

  // Makes `data` what it would be had the power gone at this moment. No program that lives in it may run.
  void Crash();
  // The same, in a directory of its own, while a program runs.
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
// By `sh`; standard error goes with the output.
CommandResult RunCommand(const std::string& command);

}  // namespace weir
