#include "bench/storm/policy.h"

#include <rocksdb/db.h>

#include <cmath>

#include "bench/storm/control_policies.h"
#include "bench/storm/engine_policies.h"
#include "config/parse.h"

namespace weir {
namespace {

constexpr double kAsIs = std::numeric_limits<double>::quiet_NaN();

struct Entry {
  PolicyKind kind;
  std::function<std::unique_ptr<Policy>(double knob, const StormGeometry&, const LimiterSettings&)> make;
};

template <typename T>
auto FromKnob() {
  return [](double knob, const StormGeometry&, const LimiterSettings&) { return std::make_unique<T>(knob); };
}

const std::vector<Entry>& Entries() {
  static const std::vector<Entry> kEntries = {
      {{"alone", "RocksDB as it is", "L0 slowdown trigger, files", 12}, FromKnob<AlonePolicy>()},
      {{"low_pri", "bulk by WriteOptions::low_pri, in batches small enough not to abort", "values in a batch", 4},
       FromKnob<LowPriPolicy>()},
      {{"alone_merged", "RocksDB with the flushes that weir merges (lsm_geometry.h)", "", kAsIs},
       FromKnob<AloneMergedPolicy>()},
      {{"low_pri_merged", "low_pri with the same", "values in a batch", 4}, FromKnob<LowPriMergedPolicy>()},
      {{"no_slowdown", "bulk by WriteOptions::no_slowdown, again after a pause", "L0 slowdown trigger, files", 12},
       FromKnob<NoSlowdownPolicy>()},
      {{"auto_tuned", "RocksDB's auto-tuned RateLimiter", "", kAsIs}, FromKnob<AutoTunedPolicy>()},
      {{"buffer_stall", "a WriteBufferManager that stalls writers", "MiB of memtables", 16},
       FromKnob<BufferStallPolicy>()},
      {{"raised", "weir's options, nothing that limits", "", kAsIs}, FromKnob<RaisedPolicy>()},
      {{"plan", "the published plan, literally", "setpoint of bulk", kAsIs},
       [](double knob, const StormGeometry&, const LimiterSettings&) { return std::make_unique<PlanPolicy>(knob); }},
      {{"static", "weir's options and a fixed rate for bulk", "bulk MB/s", 5},
       [](double knob, const StormGeometry& g, const LimiterSettings&) {
         return std::make_unique<StaticPolicy>(knob * g.scale);
       }},
      {{"weir_one", "weir, all work in one class", "setpoint", kAsIs},
       [](double knob, const StormGeometry&, const LimiterSettings& s) {
         return std::make_unique<WeirPolicy>(s, WeirPolicy::Classes::kOne, knob);
       }},
      {{"weir_scans", "weir, and few long scans at once", "scans at once", 1},
       [](double knob, const StormGeometry&, const LimiterSettings& s) {
         return std::make_unique<FewScansPolicy>(s, knob);
       }},
      {{"weir", "weir", "setpoint of bulk", kAsIs},
       [](double knob, const StormGeometry&, const LimiterSettings& s) {
         return std::make_unique<WeirPolicy>(s, WeirPolicy::Classes::kTwo, knob);
       }},
  };
  return kEntries;
}

}  // namespace

bool Policy::Read(Party, uint64_t, const std::function<void()>& read) {
  read();
  return true;
}

const std::vector<PolicyKind>& PolicyKinds() {
  static const std::vector<PolicyKind> kKinds = [] {
    std::vector<PolicyKind> kinds;
    for (const Entry& entry : Entries()) kinds.push_back(entry.kind);
    return kinds;
  }();
  return kKinds;
}

Result<std::unique_ptr<Policy>> MakePolicy(const std::string& spec, const StormGeometry& geometry,
                                           const LimiterSettings& settings) {
  const size_t at = spec.find('@');
  const std::string name = spec.substr(0, at);
  for (const Entry& entry : Entries()) {
    if (entry.kind.name != name) continue;
    double knob = entry.kind.default_knob;
    if (at != std::string::npos) {
      if (entry.kind.knob.empty()) return Status::Error("policy " + spec + ": it has no knob to set");
      const Result<double> value = ParseNumber(spec.substr(at + 1), {.min = 0.01, .max = 1e6, .unit = entry.kind.knob});
      if (!value.ok()) return Status::Error("policy " + spec + ": " + value.status().message());
      knob = value.value();
    }
    return entry.make(knob, geometry, settings);
  }
  std::string names;
  for (const Entry& entry : Entries()) names.append(" ").append(entry.kind.name);
  return Status::Error("no policy \"" + name + "\"; there are:" + names);
}

}  // namespace weir
