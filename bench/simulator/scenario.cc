#include "bench/simulator/scenario.h"

namespace weir {
namespace {

using Kind = Disturbance::Kind;

LsmPlantOptions Recipe(double scale) {
  LsmPlantOptions o;
  o.geometry = {.write_buffer_bytes = static_cast<uint64_t>(scale * (4 << 20)),
                .l0_trigger = 4,
                .l1_bytes = static_cast<uint64_t>(scale * (32 << 20)),
                .brakes = {.max_write_buffers = 4,
                           .l0_slowdown = 12,
                           .l0_stop = 20,
                           .soft_pending_bytes = static_cast<uint64_t>(scale * (512 << 20)),
                           .hard_pending_bytes = static_cast<uint64_t>(scale * (2048.0 * (1 << 20)))},
                .background_bytes_per_second = scale * (32 << 20)};
  o.lower_bytes = {scale * 70e6};
  o.distinct_bytes = scale * 70e6;
  o.insert_bytes_per_second = 78e6 * scale;
  o.memory_target_bytes = scale * 1400e6;
  o.other_memory_bytes = scale * 250e6;
  return o;
}

LsmPlantOptions Growing() {
  LsmPlantOptions o = Recipe(1);
  o.distinct_bytes = 20e9;
  return o;
}

LsmPlantOptions Uneven() {
  LsmPlantOptions o = Recipe(1);
  o.unevenness = 0.5;
  return o;
}

LsmPlantOptions RocksDbDefault() {
  LsmPlantOptions o;
  o.geometry = {.write_buffer_bytes = 64 << 20,
                .l0_trigger = 4,
                .l1_bytes = 256 << 20,
                .brakes = {.max_write_buffers = 2,
                           .l0_slowdown = 20,
                           .l0_stop = 36,
                           .soft_pending_bytes = 64ull << 30,
                           .hard_pending_bytes = 256ull << 30},
                .background_bytes_per_second = 128 << 20};
  o.lower_bytes = {560e6};
  o.distinct_bytes = 560e6;
  o.insert_bytes_per_second = 200e6;
  o.memory_target_bytes = 4000e6;
  o.other_memory_bytes = 700e6;
  return o;
}

}  // namespace

const std::vector<Geometry>& Geometries() {
  static const std::vector<Geometry> kGeometries = {
      {"recipe", "the storm experiment's: 4 MiB x 4 buffers, L0 4/12/20, 32 MiB/s", Recipe(1), {}, 5.9e6},
      {"growing", "the recipe while its tree grows to 20 GB", Growing(), {}, 3.9e6},
      {"uneven", "the recipe with compactions that write half as much, up to half as much again", Uneven(), {}, 5.9e6},
      {"recipe-x4",
       "all of it times four: 16 MiB x 4 buffers, 128 MiB/s",
       Recipe(4),
       {.target_bytes = 1600e6, .base_bytes = 320e6, .drain_bytes_per_second = 24e6, .insert_bytes_per_second = 312e6},
       23.6e6},
      {"default",
       "RocksDB's: 64 MiB x 2 buffers, L0 4/20/36, and 128 MiB/s",
       RocksDbDefault(),
       {.target_bytes = 1600e6, .base_bytes = 320e6, .drain_bytes_per_second = 24e6, .insert_bytes_per_second = 200e6},
       30.5e6,
       4.4},
  };
  return kGeometries;
}

const std::vector<Scenario>& Scenarios() {
  static const std::vector<Scenario> kScenarios = {
      {.name = "step",
       .meaning = "bulk work steps from half of what the engine sustains to three times as much",
       .seconds = 140,
       .from_s = 40,
       .offers = {{0, 0.5}, {40, 3}}},
      {.name = "ramp",
       .meaning = "bulk work grows from nothing to three times what the engine sustains within a minute",
       .seconds = 160,
       .from_s = 20,
       .offers = {{0, 0}, {20, 0, true}, {80, 3}}},
      {.name = "burst",
       .meaning = "calm, 30 s of writers in a closed loop, calm",
       .seconds = 120,
       .from_s = 40,
       .until_s = 70,
       .offers = {{0, 0.5}, {40}, {70, 0.5}}},
      {.name = "sustained-3x",
       .meaning = "three times what the engine sustains, from the beginning and for five minutes",
       .seconds = 300,
       .offers = {{0, 3}}},
      {.name = "idle-burst",
       .meaning = "a minute without any bulk work, then writers in a closed loop",
       .seconds = 160,
       .from_s = 60,
       .offers = {{0, 0}, {60}}},
      {.name = "bandwidth",
       .meaning = "writers in a closed loop; background bandwidth falls to 12/32 of itself for a minute",
       .seconds = 240,
       .from_s = 80,
       .until_s = 140,
       .disturbances = {{80, Kind::kBackground, 12.0 / 32}, {140, Kind::kBackground, 1}}},
      {.name = "sensor-loss",
       .meaning = "under three times the sustainable work the monitor fails for 10 s, then delivers NaN for 10 s",
       .seconds = 160,
       .from_s = 60,
       .offers = {{0, 3}},
       .disturbances =
           {{60, Kind::kSensorFails}, {70, Kind::kSensorWorks}, {100, Kind::kSensorNan}, {110, Kind::kSensorWorks}}},
      {.name = "gain-change",
       .meaning = "the bulk gains are doubled while the law works",
       .seconds = 140,
       .from_s = 80,
       .offers = {{0, 3}},
       .disturbances = {{80, Kind::kBulkGains, 2}}},
      {.name = "thousand-writers",
       .meaning = "a thousand parties write in a closed loop",
       .seconds = 160,
       .from_s = 40,
       .parties = 1000,
       .compare_with = "one-writer"},
      {.name = "one-writer",
       .meaning = "one party writes in a closed loop",
       .seconds = 160,
       .from_s = 40,
       .parties = 1,
       .compare_with = "thousand-writers"},
      {.name = "memory-only",
       .meaning = "no engine to ask: memory fills and drains, at half the rate for a while",
       .seconds = 240,
       .from_s = 120,
       .offers = {{0, 3}},
       .disturbances = {{120, Kind::kBackground, 0.5}, {180, Kind::kBackground, 1}},
       .memory_plant = true},
      {.name = "memory-low-l0-high",
       .meaning = "memory at a fifth of its target while L0 fills: the bottleneck is what counts",
       .seconds = 140,
       .from_s = 20,
       .offers = {{0, 0}, {20}},
       .compare_with = "memory-low-l0-high-weighted"},
      {.name = "memory-low-l0-high-weighted",
       .meaning = "the same with 0.7 memory + 0.3 load as process variable",
       .seconds = 140,
       .from_s = 20,
       .offers = {{0, 0}, {20}},
       .weighted = true,
       .compare_with = "memory-low-l0-high"},
      {.name = "ten-parties",
       .meaning = "ten parties in a closed loop, one of them with ten writers",
       .seconds = 160,
       .from_s = 40,
       .parties = 10,
       .writers_of_first_party = 10},
  };
  return kScenarios;
}

Scenario Stretched(Scenario scenario, double time_scale) {
  if (scenario.memory_plant) return scenario;  // it has no compactions to be slow
  scenario.seconds *= time_scale;
  scenario.from_s *= time_scale;
  scenario.until_s *= time_scale;
  for (Offer& offer : scenario.offers) offer.from_s *= time_scale;
  for (Disturbance& disturbance : scenario.disturbances) disturbance.at_s *= time_scale;
  return scenario;
}

const Scenario* FindScenario(std::string_view name) {
  for (const Scenario& s : Scenarios())
    if (s.name == name) return &s;
  return nullptr;
}

const Geometry* FindGeometry(std::string_view name) {
  for (const Geometry& g : Geometries())
    if (g.name == name) return &g;
  return nullptr;
}

}  // namespace weir
