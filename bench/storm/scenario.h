// The course of a run for the engine, phase by phase. Interactive writes and reads come all the time, at their own
// pace; bulk work and the disk change.
#pragma once

#include <string>
#include <vector>

namespace weir {

struct BulkLoad {
  enum class Kind { kNone, kClosedLoop, kOpenLoop };
  Kind kind = Kind::kNone;
  double of_sustainable = 0;  // open loop: the share of the sustainable rate that comes
};

struct StormPhase {
  std::string name;
  double seconds = 0;
  BulkLoad bulk;
  double disk_share = 1;
};

struct StormScenario {
  std::string name;
  std::string meaning;
  std::vector<StormPhase> phases;
  std::string judged_phase;                       // the report shows its latencies
  std::vector<int> writers_of_party{1, 1, 1, 1};  // bulk writers
  int scanners = 0;                               // closed-loop readers of long ranges, while bulk work runs
  bool settles = true;  // ends when flushes and compactions have caught up, in a phase "settle" without bulk work
};

const std::vector<StormScenario>& StormScenarios();
const StormScenario* FindStormScenario(const std::string& name);

}  // namespace weir
