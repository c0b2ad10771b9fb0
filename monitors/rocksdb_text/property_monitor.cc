#include "monitors/rocksdb_text/property_monitor.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "config/birth_process.h"
#include "config/mutex.h"
#include "config/text/parse.h"
#include "monitors/escape_watch.h"
#include "monitors/lsm_engine.h"
#include "monitors/memory_only_monitor.h"
#include "monitors/memory_probe.h"
#include "monitors/rocksdb_text/stats_text.h"

namespace weir {
namespace {

constexpr Duration kOptionsInterval = std::chrono::seconds(10);
constexpr double kLargestFigure = 1e15;  // bytes or files; no database has more
constexpr size_t kMostRunsAsked = 64;    // levels below L0, if their files are counted

// Returns the options that change the brakes `from` to `to`, but for those that `set`, the present ones, has otherwise.
OptionValues Changes(const LsmBrakes& from, const LsmBrakes& to, const LsmBrakes& set) {
  OptionValues values;
  const auto add = [&](const char* name, auto member) {
    if (set.*member == from.*member && to.*member != from.*member)
      values.emplace_back(name, std::to_string(to.*member));
  };
  add("max_write_buffer_number", &LsmBrakes::max_write_buffers);
  add("level0_slowdown_writes_trigger", &LsmBrakes::l0_slowdown);
  add("level0_stop_writes_trigger", &LsmBrakes::l0_stop);
  add("soft_pending_compaction_bytes_limit", &LsmBrakes::soft_pending_bytes);
  add("hard_pending_compaction_bytes_limit", &LsmBrakes::hard_pending_bytes);
  return values;
}

// Returns the brakes above the trigger, as RocksDB wants them, which the program may have raised.
LsmBrakes Fitting(LsmBrakes brakes, const LsmGeometry& geometry) {
  brakes.l0_slowdown = std::max(brakes.l0_slowdown, geometry.l0_trigger + 1);
  brakes.l0_stop = std::max(brakes.l0_stop, brakes.l0_slowdown);
  return brakes;
}

// Follows a sum that only grows, and that is rounded, so that it seems to fall now and then. If each growth were added
// up, the roundings would be, too: L0 without compactions seemed to drain four fifths of what was flushed.
class GrowingSum {
 public:
  // `restarts` says that RocksDB has begun again at 0 since the last call.
  double Follow(double read, bool restarts) {
    sum_ = restarts ? read : std::max(sum_, read);
    return sum_;
  }

 private:
  double sum_ = -std::numeric_limits<double>::infinity();
};

}  // namespace

// PropertyProbe: the LoadProbe of PropertyMonitor.
class PropertyProbe final : public LoadProbe {
 public:
  PropertyProbe(PropertyReader reader, PropertyMonitorSettings settings)
      : settings_(std::move(settings)), reader_(std::move(reader)) {}

  // Reads the options. Returns an error if a family is not in them.
  Status Open() {
    const MutexLock lock(mutex_);
    return FollowOptions();
  }
  // The setter runs without a lock, because RocksDB may let it wait behind delayed writers, and samples go on.
  Status PlaceBrakes(bool moved) {
    if (birth_.IsForked() || settings_.set_options == nullptr) return {};
    std::map<std::string, OptionValues> changes;
    {
      const MutexLock lock(mutex_);
      if (reader_ == nullptr) return {};
      // The program may have set brakes since the options were read.
      if (Status followed = FollowOptions(); !followed.ok() && moved) return followed;
      for (auto& [name, family] : families_) {
        Brakes& brakes = brakes_[name];
        if (moved) {
          brakes.given = family.geometry.brakes;
          family.geometry.brakes_moved = true;
          brakes.moved = BrakesOf(family.geometry);
          changes[name] = Changes(brakes.set, *brakes.moved, brakes.set);
        } else if (brakes.moved) {
          changes[name] = Changes(*brakes.moved, Fitting(brakes.given, family.geometry), brakes.set);
          family.geometry.brakes_moved = false;
          brakes.moved.reset();
        }
      }
    }
    Status placed;
    for (const auto& [name, values] : changes)
      if (!values.empty() && !settings_.set_options(name, values))
        placed = Status::Error("RocksDB does not take the options of column family " + Printable(name) + " that " +
                               (moved ? "move" : "give back") + " its brakes");
    const MutexLock lock(mutex_);
    for (auto& [name, family] : families_) family.signals.SetGeometry(family.geometry);
    return placed;
  }

  void Detach() {
    if (birth_.IsForked()) return;
    const MutexLock lock(mutex_);
    reader_ = nullptr;
    settings_.options = nullptr;
  }

  Status ProbeProcess(LoadSample* sample) override {
    const Result<MemoryUse> use = memory_.ReadUse();
    if (!use.ok()) return use.status();
    AddMemory(use.value(), settings_.memory_target_bytes, settings_.monitor.sample_interval, sample);
    return {};
  }

  // The program's functions are called with the mutex held, so none runs after Detach.
  Status Probe(TimePoint now, LoadSample* sample) override {
    const MutexLock lock(mutex_);
    if (reader_ == nullptr) return Status::Error("detached");
    std::string event;
    if (Status sampled = ProbeLocked(now, sample, &event); !sampled.ok()) return sampled;
    if (!event.empty() && settings_.on_event) settings_.on_event(event);
    return {};
  }

 private:
  Status ProbeLocked(TimePoint now, LoadSample* sample, std::string* event) WEIR_REQUIRES(mutex_) {
    if (!options_read_ || now < *options_read_ || now - *options_read_ >= kOptionsInterval) {
      options_read_ = now;
      // Options that cannot be read for the moment, such as those of a file that is just replaced, stay as they were.
      if (Status followed = FollowOptions(); !followed.ok() && families_.empty()) return followed;
    }
    if (Status read = ReadFigures(); !read.ok()) {
      options_read_.reset();  // a family may have been dropped
      return read;
    }
    if (engine_.CountersAreDue(now)) {
      if (Status read = ReadCounters(now); !read.ok()) return read;
    }
    engine_.AddSignals(now, 0, 0, sample);
    sample->escapes = std::max(escape_watch_.seen(), engine_.counted_brakes());
    if (settings_.writes_are_limited) {
      *event = escape_watch_.Tell(now, stopped_, "", *sample);
    } else {
      escape_watch_.PassOver(*sample);
    }
    return {};
  }

  Status FollowOptions() WEIR_REQUIRES(mutex_) {
    const Result<OptionsText> options = settings_.options();
    if (!options.ok()) return options.status();
    std::map<std::string, LsmGeometry> geometry;
    for (const std::string& name : settings_.families) {
      const OptionsText::Family* family = options.value().Find(name);
      if (family == nullptr && families_.size() > 1) continue;  // it was dropped
      if (family == nullptr)
        return Status::Error("the options have no column family " + Printable(name) + ": name those that exist");
      if (family->options.compaction_style == CompactionStyle::kNone)
        return Status::Error("column family " + Printable(name) +
                             " has no compaction (kCompactionStyleNone), so how fast files leave L0 is not known: do "
                             "not watch it");
      geometry.emplace(name, GeometryAsSet(family->options));
    }
    if (families_.empty()) {
      for (const auto& [name, g] : geometry) families_.try_emplace(name, g, settings_.monitor.sample_interval);
      FamiliesChanged();
    }
    if (geometry.empty()) return Status::Error("the options have none of the column families");
    if (std::erase_if(families_, [&](const auto& family) { return !geometry.contains(family.first); }) > 0)
      FamiliesChanged();
    for (auto& [name, family] : families_) {
      LsmGeometry now = geometry.at(name);
      Brakes& brakes = brakes_[name];
      brakes.set = now.brakes;
      // Brakes that weir moved are not the program's. A text of the options that the program has given never has them.
      now.brakes_moved = brakes.moved && (now.brakes == *brakes.moved || now.brakes == brakes.given);
      if (now.brakes_moved) now.brakes = brakes.given;
      if (brakes.moved && brakes.set == brakes.given) brakes.set = *brakes.moved;
      if (family.geometry == now) continue;
      family.geometry = now;
      family.signals.SetGeometry(family.geometry);
      engine_.BuffersChanged();
    }
    return {};
  }

  void FamiliesChanged() WEIR_REQUIRES(mutex_) {
    std::vector<LsmFamily*> families;
    for (auto& [name, family] : families_) families.push_back(&family);
    engine_.SetFamilies(std::move(families));
  }

  Status ReadText(const std::string& family, const char* property, std::string* text) WEIR_REQUIRES(mutex_) {
    text->clear();
    if (reader_(family, property, text)) return {};
    return Status::Error(std::string("RocksDB does not answer ") + property + " of column family " + Printable(family) +
                         "; is the database closed?");
  }
  Status ReadNumber(const std::string& family, const char* property, uint64_t* number) WEIR_REQUIRES(mutex_) {
    std::string text;
    if (Status read = ReadText(family, property, &text); !read.ok()) return read;
    const Result<uint64_t> parsed = ParseUnsigned(text, {.min = 0, .max = kLargestFigure});
    if (!parsed.ok())
      return Status::Error(std::string(property) + " of column family " + Printable(family) + " is \"" +
                           Printable(text) + "\", not a number of bytes or files");
    *number = parsed.value();
    return {};
  }

  // The figures of the whole database are asked of this family.
  const std::string& AnyFamily() const WEIR_REQUIRES(mutex_) { return families_.begin()->first; }

  Status ReadFigures() WEIR_REQUIRES(mutex_) {
    uint64_t compactions = 0, flushes = 0, delayed = 0, stopped = 0;
    for (const auto& [property, number] :
         {std::pair("rocksdb.num-running-compactions", &compactions),
          std::pair("rocksdb.num-running-flushes", &flushes), std::pair("rocksdb.actual-delayed-write-rate", &delayed),
          std::pair("rocksdb.is-write-stopped", &stopped)}) {
      if (Status read = ReadNumber(AnyFamily(), property, number); !read.ok()) return read;
    }
    escape_watch_.Take(delayed > 0 || stopped > 0);
    stopped_ = stopped > 0;
    engine_.TakeRunning(compactions > 0, flushes > 0);
    size_t index = 0;
    for (const auto& [name, family] : families_) {
      LsmReading reading;
      if (Status read = ReadFamily(name, family.geometry.counts_runs, &reading); !read.ok()) return read;
      engine_.Take(index++, reading);
    }
    return {};
  }

  Status ReadFamily(const std::string& name, bool counts_runs, LsmReading* reading) WEIR_REQUIRES(mutex_) {
    uint64_t files_before = 0, compaction_pending = 0, flush_pending = 0;
    const std::pair<const char*, uint64_t*> figures[] = {
        {"rocksdb.num-files-at-level0", &files_before},
        {"rocksdb.num-immutable-mem-table", &reading->immutable_memtables},
        {"rocksdb.cur-size-active-mem-table", &reading->active_memtable_bytes},
        {"rocksdb.num-files-at-level0", &reading->l0_files},
        {"rocksdb.estimate-pending-compaction-bytes", &reading->pending_compaction_bytes},
        {"rocksdb.compaction-pending", &compaction_pending},
        {"rocksdb.mem-table-flush-pending", &flush_pending}};
    // A flush between two of these calls would show its file twice or not at all, so the files are read before and
    // after, and once more if they differ.
    for (int attempt = 0; attempt < 3; ++attempt) {
      for (const auto& [property, number] : figures)
        if (Status read = ReadNumber(name, property, number); !read.ok()) return read;
      if (files_before == reading->l0_files) break;
    }
    reading->compaction_pending = compaction_pending > 0;
    reading->flush_pending = flush_pending > 0;
    // RocksDB has no property for the number of levels, and answers for none that does not exist.
    for (size_t level = 1; counts_runs && level < kMostRunsAsked; ++level) {
      std::string files;
      if (!reader_(name, ("rocksdb.num-files-at-level" + std::to_string(level)).c_str(), &files)) break;
      if (TrimBlanks(files) != "0") ++reading->runs_below_l0;
    }
    return {};
  }

  Status ReadCounters(TimePoint now) WEIR_REQUIRES(mutex_) {
    std::string text;
    if (Status read = ReadText(AnyFamily(), "rocksdb.dbstats", &text); !read.ok()) return read;
    const DbStatsText stats = ParseDbStatsText(text);
    const bool restarts = stats.uptime_seconds < std::exchange(uptime_seconds_, stats.uptime_seconds);
    const double user_bytes = user_bytes_.Follow(stats.user_bytes, restarts);
    std::vector<RocksDbCounters> counters;
    std::vector<bool> has_level_below;
    for (const auto& [name, family] : families_) {
      if (Status read = ReadText(name, "rocksdb.base-level", &text); !read.ok()) return read;
      // RocksDB has -1 if its compactions know no levels.
      const Result<uint64_t> level = ParseUnsigned(text, {.min = 1, .max = kMostRunsAsked});
      const uint64_t base_level = level.ok() ? level.value() : 1;
      if (Status read = ReadText(name, "rocksdb.cfstats", &text); !read.ok()) return read;
      RocksDbCounters& read = counters.emplace_back(ParseCountersText(text, static_cast<int>(base_level)));
      Sums& sums = sums_[name];
      read.drained_from_l0_bytes = sums.drained_from_l0_bytes.Follow(read.drained_from_l0_bytes, restarts);
      read.compaction_written_bytes = sums.compaction_written_bytes.Follow(read.compaction_written_bytes, restarts);
      std::string files;
      has_level_below.push_back(
          reader_(name, ("rocksdb.num-files-at-level" + std::to_string(base_level + 1)).c_str(), &files));
    }
    engine_.TakeCounters(now, user_bytes, std::move(counters), has_level_below);
    return {};
  }

  struct Brakes {
    LsmBrakes set;                   // stand in the options
    LsmBrakes given;                 // the program's, if weir has moved them
    std::optional<LsmBrakes> moved;  // has what weir moved them to
  };
  struct Sums {
    GrowingSum drained_from_l0_bytes;
    GrowingSum compaction_written_bytes;
  };

  PropertyMonitorSettings settings_;
  const BirthProcess birth_;
  MemoryProbe memory_;
  Mutex mutex_;                                    // held while the functions of the program run
  PropertyReader reader_ WEIR_GUARDED_BY(mutex_);  // null after Detach
  std::map<std::string, LsmFamily> families_ WEIR_GUARDED_BY(mutex_);
  std::map<std::string, Sums> sums_ WEIR_GUARDED_BY(mutex_);  // by family
  GrowingSum user_bytes_ WEIR_GUARDED_BY(mutex_);
  double uptime_seconds_ WEIR_GUARDED_BY(mutex_) = 0;             // falls when DB::ResetStats begins again
  std::map<std::string, Brakes> brakes_ WEIR_GUARDED_BY(mutex_);  // by family
  LsmEngine engine_ WEIR_GUARDED_BY(mutex_);
  EscapeWatch escape_watch_ WEIR_GUARDED_BY(mutex_);
  bool stopped_ WEIR_GUARDED_BY(mutex_) = false;  // RocksDB stopped writes at the last sample
  std::optional<TimePoint> options_read_ WEIR_GUARDED_BY(mutex_);
};

PropertyMonitor::PropertyMonitor(std::unique_ptr<PropertyProbe> probe, const MonitorSettings& settings,
                                 const Clock& clock)
    : LoadMonitor(std::move(probe), settings, clock), properties_(static_cast<PropertyProbe&>(this->probe())) {}

Result<std::unique_ptr<PropertyMonitor>> PropertyMonitor::Attach(PropertyReader reader,
                                                                 PropertyMonitorSettings settings, const Clock& clock) {
  if (Status checked = Check(settings.monitor); !checked.ok()) return checked;
  if (reader == nullptr) return Status::Error("the function that reads properties is missing");
  if (settings.options == nullptr) return Status::Error("the function that returns the options is missing");
  if (settings.families.empty()) return Status::Error("no column family is named: watch \"default\" at least");
  if (settings.memory_target_bytes == 0)
    return Status::Error("the memory target is 0: give the bytes that the program may use");
  const MonitorSettings monitor_settings = settings.monitor;
  auto probe = std::make_unique<PropertyProbe>(std::move(reader), std::move(settings));
  if (Status opened = probe->Open(); !opened.ok()) return opened;
  std::unique_ptr<PropertyMonitor> monitor(new PropertyMonitor(std::move(probe), monitor_settings, clock));
  if (Status sampled = monitor->SampleOnce(); !sampled.ok()) return sampled;
  return monitor;
}

Status PropertyMonitor::MoveBrakes() { return properties_.PlaceBrakes(true); }
Status PropertyMonitor::GiveBrakesBack() { return properties_.PlaceBrakes(false); }

void PropertyMonitor::Detach() { properties_.Detach(); }

}  // namespace weir
