#include "bench/storm/scenario.h"

namespace weir {

const std::vector<StormScenario>& StormScenarios() {
  using Kind = BulkLoad::Kind;
  constexpr double kCutDisk = 12.0 / 32;
  static const std::vector<StormScenario> kScenarios = {
      {.name = "burst",
       .meaning = "calm, 60 s of bulk writers as fast as they can, calm",
       .phases = {{"calm", 10}, {"burst", 60, {Kind::kClosedLoop}}},
       .judged_phase = "burst"},
      {.name = "cut",
       .meaning = "the same while the disk falls from 32 to 12 MiB/s and comes back",
       .phases = {{"full", 20, {Kind::kClosedLoop}},
                  {"cut", 30, {Kind::kClosedLoop}, kCutDisk},
                  {"back", 20, {Kind::kClosedLoop}}},
       .judged_phase = "cut"},
      {.name = "steady",
       .meaning = "bulk writers as fast as they can for ten minutes: what is sustained",
       .phases = {{"warm", 300, {Kind::kClosedLoop}}, {"steady", 300, {Kind::kClosedLoop}}},
       .judged_phase = "steady"},
      {.name = "open-0.95",
       .meaning = "bulk work comes at 0.95 of what is sustained",
       .phases = {{"calm", 5}, {"bulk", 60, {Kind::kOpenLoop, 0.95}}},
       .judged_phase = "bulk"},
      {.name = "open-1.5",
       .meaning = "bulk work comes at 1.5 times what is sustained",
       .phases = {{"calm", 5}, {"bulk", 60, {Kind::kOpenLoop, 1.5}}},
       .judged_phase = "bulk"},
      {.name = "parties",
       .meaning = "ten parties, one of them with ten writers",
       .phases = {{"bulk", 60, {Kind::kClosedLoop}}},
       .judged_phase = "bulk",
       .writers_of_party = {10, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
      {.name = "scans",
       .meaning = "a burst while four readers scan 2,000 values at a time",
       .phases = {{"calm", 10}, {"burst", 40, {Kind::kClosedLoop}}},
       .judged_phase = "burst",
       .scanners = 4},
      {.name = "shape",
       .meaning = "half a minute of bulk writers as fast as they can: what each shape is tried with",
       .phases = {{"calm", 5}, {"burst", 30, {Kind::kClosedLoop}}},
       .judged_phase = "burst"},
      {.name = "quick",
       .meaning = "a short burst, for a first look and for CI",
       .phases = {{"calm", 2}, {"burst", 22, {Kind::kClosedLoop}}},
       .judged_phase = "burst",
       .settles = false},
  };
  return kScenarios;
}

const StormScenario* FindStormScenario(const std::string& name) {
  for (const StormScenario& s : StormScenarios())
    if (s.name == name) return &s;
  return nullptr;
}

}  // namespace weir
