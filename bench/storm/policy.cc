#include "bench/storm/policy.h"

#include <rocksdb/db.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "bench/storm/policies.h"
#include "config/text/parse.h"

namespace weir {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(1);
constexpr Duration kLongestPause = std::chrono::milliseconds(100);

// EnginePolicy: RocksDB's own remedies, that is, options with which the database is opened, or an option of bulk
// writes.
class EnginePolicy final : public Policy {
 public:
  using Adaptation = std::function<void(StormEngine::Options&)>;
  explicit EnginePolicy(Adaptation adapt, bool rocksdb::WriteOptions::*option_of_bulk = nullptr,
                        int largest_batch = std::numeric_limits<int>::max())
      : adapt_(std::move(adapt)), option_of_bulk_(option_of_bulk), largest_batch_(largest_batch) {}

  void Adapt(StormEngine::Options& options) const override { adapt_(options); }
  void Stop() override { stopped_ = true; }
  int LargestBatch() const override { return largest_batch_; }

  // A write under no_slowdown is Incomplete if it would have to wait; its client tries again, each time after twice as
  // long.
  WriteResult Write(Party party, rocksdb::WriteBatch& batch) override {
    rocksdb::WriteOptions options;
    if (option_of_bulk_ != nullptr) options.*option_of_bulk_ = party.work_class == WorkClass::kBulk;
    Duration waited{};
    for (Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
      const rocksdb::Status status = engine().Write(options, party.work_class, batch);
      if (!status.IsIncomplete()) return {.status = status, .waited = waited};
      if (stopped_) return {.refused = true, .waited = waited};
      std::this_thread::sleep_for(pause);
      waited += pause;
    }
  }

 private:
  const Adaptation adapt_;
  bool rocksdb::WriteOptions::*const option_of_bulk_;
  const int largest_batch_;
  std::atomic<bool> stopped_{false};
};

EnginePolicy::Adaptation SlowdownAt(double l0_files) {
  return [l0_files](StormEngine::Options& options) {
    if (!std::isfinite(l0_files)) return;
    const int moved = static_cast<int>(l0_files) - options.rocksdb.level0_slowdown_writes_trigger;
    options.rocksdb.level0_slowdown_writes_trigger += moved;
    options.rocksdb.level0_stop_writes_trigger += moved;
  };
}

void AsItIs(StormEngine::Options&) {}

void MoveBrakes(StormEngine::Options& options) { options.move_brakes = true; }

// Merges flushes as weir does when it prepares a database, so that this gain is not credited to control.
void MergeFlushes(StormEngine::Options& options) {
  const LsmGeometry prepared = PreparedGeometry(GeometryOf(options.rocksdb));
  options.rocksdb.min_write_buffer_number_to_merge = prepared.buffers_per_flush;
  options.rocksdb.max_write_buffer_number = prepared.brakes.max_write_buffers;
}

// The RateLimiter chooses the rate of flushes and compactions itself, up to the rate of the disk.
void AutoTune(StormEngine::Options& options) {
  if (!options.rocksdb.rate_limiter) return;  // the shape has none
  constexpr int64_t kTunedRefillMicroseconds = 10'000;
  constexpr int32_t kFairness = 10;
  options.disk.reset(rocksdb::NewGenericRateLimiter(options.disk->GetBytesPerSecond(), kTunedRefillMicroseconds,
                                                    kFairness, rocksdb::RateLimiter::Mode::kWritesOnly,
                                                    /*auto_tuned=*/true));
  options.rocksdb.rate_limiter = options.disk;
}

EnginePolicy::Adaptation StallAt(double mebibytes) {
  return [mebibytes](StormEngine::Options& options) {
    // `mebibytes` is for scale 1. Its default is the most that the memtables of a column family have at that scale.
    const double scale = static_cast<double>(options.rocksdb.write_buffer_size) / (4 << 20);
    options.rocksdb.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(
        static_cast<size_t>(mebibytes * scale * (1 << 20)), nullptr, /*allow_stall=*/true);
  };
}

struct Knobs {
  double knob;
  const StormShape& shape;
  const LimiterSettings& settings;
};

struct Entry {
  PolicyKind kind;
  std::function<std::unique_ptr<Policy>(const Knobs&)> make;
};

using Options = rocksdb::WriteOptions;

template <typename... Args>
std::unique_ptr<Policy> Engine(Args... args) {
  return std::make_unique<EnginePolicy>(std::move(args)...);
}

// low_pri has small batches: RocksDB asserts that a batch is smaller than what its rate limit for low_pri allows in a
// tenth of a second. This limit falls with the delayed rate, and Debian builds RocksDB with assertions.
const std::vector<Entry>& Entries() {
  static const std::vector<Entry> kEntries = {
      {{"alone", "RocksDB as it is", "L0 slowdown trigger, files", kAsIs},
       [](const Knobs& k) { return Engine(SlowdownAt(k.knob)); }},
      {{"low_pri", "bulk by WriteOptions::low_pri, in batches small enough not to abort", "values in a batch", 4},
       [](const Knobs& k) { return Engine(AsItIs, &Options::low_pri, static_cast<int>(k.knob)); }},
      {{"alone_merged", "RocksDB with the flushes that weir merges (lsm_geometry.h)", "", kAsIs},
       [](const Knobs&) { return Engine(MergeFlushes); }},
      {{"low_pri_merged", "low_pri with the same", "values in a batch", 4},
       [](const Knobs& k) { return Engine(MergeFlushes, &Options::low_pri, static_cast<int>(k.knob)); }},
      {{"no_slowdown", "bulk by WriteOptions::no_slowdown, again after a pause", "L0 slowdown trigger, files", kAsIs},
       [](const Knobs& k) { return Engine(SlowdownAt(k.knob), &Options::no_slowdown); }},
      {{"auto_tuned", "RocksDB's auto-tuned RateLimiter", "", kAsIs}, [](const Knobs&) { return Engine(AutoTune); }},
      {{"buffer_stall", "a WriteBufferManager that stalls writers", "MiB of memtables", 16},
       [](const Knobs& k) { return Engine(StallAt(k.knob)); }},
      {{"raised", "weir's options, nothing that limits", "", kAsIs}, [](const Knobs&) { return Engine(MoveBrakes); }},
      {{"plan", "the published plan, literally", "setpoint of bulk", kAsIs},
       [](const Knobs& k) { return MakePlanPolicy(k.knob); }},
      {{"static", "weir's options and a fixed rate for bulk", "bulk MB/s", 5},
       [](const Knobs& k) { return MakeStaticPolicy(k.knob * k.shape.scale / k.shape.databases); }},
      {{"weir_one", "weir, all work in one class", "setpoint", kAsIs},
       [](const Knobs& k) { return MakeWeirPolicy(k.settings, WeirClasses::kOne, k.knob); }},
      {{"weir", "weir", "setpoint of bulk", kAsIs},
       [](const Knobs& k) { return MakeWeirPolicy(k.settings, WeirClasses::kTwo, k.knob); }},
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

Result<std::unique_ptr<Policy>> MakePolicy(const std::string& spec, const StormShape& shape,
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
    return entry.make({knob, shape, settings});
  }
  std::string names;
  for (const Entry& entry : Entries()) names.append(" ").append(entry.kind.name);
  return Status::Error("no policy \"" + name + "\"; there are:" + names);
}

}  // namespace weir
