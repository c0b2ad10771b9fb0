// A process that saves durably until it is killed, and the check of the database against its output.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "tests/relay/store/child_process.h"

namespace weir {

// Saves events until the process is killed. Prints a line for each event: "?id" before a write that is to remove it,
// and "+id" or "-id" when the write that saved or removed it is acknowledged.
int SaveUntilKilled(const std::string& path);
// Prints the same lines, but removes all events of an author by one deletion, then all of the next author by a request
// to vanish, then those of the third by their ids, as sweeps and `weir delete` do, and so on. Each removal takes many
// writes. "-id" of an event that vanishes is true only after further writes.
int RemoveUntilKilled(const std::string& path);

// Opens the store as one that searches kind 1, and builds its index of words, with a line for each piece.
int BuildWords(const std::string& path);

class Expectation {
 public:
  void Hear(const std::string& line);
  // Reads the rest of the child's output.
  void HearAll(ChildProcess& child);

  uint64_t acknowledged() const { return acknowledged_; }
  const std::set<std::string>& present() const { return present_; }
  const std::set<std::string>& absent() const { return absent_; }

 private:
  uint64_t acknowledged_ = 0;
  std::set<std::string> present_;
  std::set<std::string> absent_;
  std::set<std::string> doomed_;  // ids after "?": the event may or may not be stored until "-id" comes
};

}  // namespace weir
