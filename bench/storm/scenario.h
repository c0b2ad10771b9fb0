// StormScenario: the phases of a run. Interactive writes and reads come at the same rates in all phases; the bulk work
// and the speed of the disk differ.
#pragma once

#include <string>
#include <vector>

namespace weir {

struct BulkLoad {
  enum class Kind { kNone, kClosedLoop, kOpenLoop };
  Kind kind = Kind::kNone;
  double of_sustainable = 0;  // for kOpenLoop: the offered rate, as a multiple of the sustainable rate
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
  std::string judged_phase;                       // the phase whose latencies the report shows
  std::vector<int> writers_of_party{1, 1, 1, 1};  // number of bulk writers of each party
  int scanners = 0;                               // clients that read long ranges in a closed loop, beside bulk work
  bool settles = true;  // true: then a phase "settle" without bulk work, until the engine has caught up or 240 s
};

const std::vector<StormScenario>& StormScenarios();
const StormScenario* FindStormScenario(const std::string& name);

}  // namespace weir
