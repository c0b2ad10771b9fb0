// A process that saves durably until it is killed, and what the database must have after its words.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "tests/relay/store/child_process.h"

namespace weir {

// Prints a line for each event: "?id" before a write that is to remove it, "+id" and "-id" when the write that saved or
// removed it has been acknowledged.
int SaveUntilKilled(const std::string& path);
// Prints the same, and removes all of an author by one deletion, then all of the next by a request to vanish, and so
// on. Each removal takes many writes; "-id" of a vanishing event holds once it has been given the time.
int RemoveUntilKilled(const std::string& path);

class Expectation {
 public:
  void Hear(const std::string& line);
  // Hears everything that the child still says.
  void HearAll(ChildProcess& child);

  uint64_t acknowledged() const { return acknowledged_; }
  const std::set<std::string>& present() const { return present_; }
  const std::set<std::string>& absent() const { return absent_; }

 private:
  uint64_t acknowledged_ = 0;
  std::set<std::string> present_;
  std::set<std::string> absent_;
  std::set<std::string> doomed_;  // whether they are there is known only after the acknowledgement
};

}  // namespace weir
