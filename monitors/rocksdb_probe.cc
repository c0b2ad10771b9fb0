#include "monitors/rocksdb_probe.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "monitors/memory_only_monitor.h"
#include "monitors/rocksdb_version.h"
#include "rocksdb/rate_limiter.h"

namespace weir {
namespace {

using Properties = rocksdb::DB::Properties;

// RocksDB walks all table readers to answer this property.
constexpr Duration kTableReadersInterval = std::chrono::seconds(10);

// By design the advice is to slow reads at a score of 2.0, writes at 1.5: a backlog slows reads down later than it
// endangers writes.
constexpr double kReadScoreFactor = 2.0 / 1.5;

// The burst takes at most this part of the manager: half of the room that is left when RocksDB starts a flush.
constexpr uint64_t kBurstPart = 16;

Status DoesNotAnswer(const std::string& property) { return Status::Error("RocksDB does not answer " + property); }

void AddTo(const std::vector<RocksDbLevel>& levels, std::vector<RocksDbLevel>* sums) {
  if (sums->size() < levels.size()) sums->resize(levels.size());
  for (size_t i = 0; i < levels.size(); ++i) {
    RocksDbLevel& sum = (*sums)[i];
    sum.files += levels[i].files;
    sum.bytes += levels[i].bytes;
    sum.score = std::max(sum.score, levels[i].score);
  }
}

}  // namespace

// The events are told when no lock is held, so that the function may call the monitor.
Status RocksDbProbe::Probe(TimePoint now, LoadSample* sample) {
  std::vector<std::string> events;
  Status sampled;
  {
    const MutexLock lock(db_mutex_);
    sampled = ProbeLocked(now, sample);
    events.swap(events_);
  }
  for (const std::string& event : events)
    if (settings_.on_event) settings_.on_event(event);
  return sampled;
}

Status RocksDbProbe::ProbeLocked(TimePoint now, LoadSample* sample) {
  if (IsClosed()) {
    Forget();
    return Closed();
  }
  if (Status status = ReadDatabase(); !status.ok()) return status;
  if (engine_.CountersAreDue(now)) {
    if (!seen_version_ || seen_version_ != counted_version_) {
      if (Status status = ReadAllCounters(now); !status.ok()) return status;
      counted_version_ = seen_version_;
    } else {
      engine_.PassCounters(now);
    }
    ReadMemoryParts(now);
  }
  if (cache_share_ < 1) FitCache();
  const Result<MemoryUse> use = memory_.ReadUse();
  if (!use.ok()) return use.status();

  AddEngineSignals(now, sample);
  AddBuffers(now, sample);
  AddMemorySignals(use.value(), sample);
  sample->escapes = Escapes();
  TellOfEscapes(now, *sample);
  Publish(*sample, use.value());
  return Status();
}

Status RocksDbProbe::ReadDatabase() {
  uint64_t compactions = 0;
  uint64_t flushes = 0;
  uint64_t delayed = 0;
  uint64_t stopped = 0;
  // Read before the figures, so that a change in between shows at the next sample.
  Version version{.sequence_number = db_->GetLatestSequenceNumber()};
  if (!db_->GetAggregatedIntProperty(Properties::kCurrentSuperVersionNumber, &version.super_versions) ||
      !db_->GetIntProperty(Properties::kNumRunningCompactions, &compactions) ||
      !db_->GetIntProperty(Properties::kNumRunningFlushes, &flushes) ||
      !db_->GetIntProperty(Properties::kActualDelayedWriteRate, &delayed) ||
      !db_->GetIntProperty(Properties::kIsWriteStopped, &stopped)) {
    return DoesNotAnswer("what is running");
  }
  escape_watch_.Take(delayed > 0 || stopped > 0);
  newest_.delayed_bytes_per_second = static_cast<double>(delayed);
  newest_.writes_stopped = stopped > 0;
  const bool works = compactions > 0 || flushes > 0 || escape_watch_.braking();
  if (!works && seen_version_ == version) return Status();

  engine_.TakeRunning(compactions > 0, flushes > 0);
  if (Status status = ReadFamilies(); !status.ok()) return status;
  const bool rests = !works && !engine_.compacting() && !engine_.flushing();
  seen_version_ = rests ? std::optional(version) : std::nullopt;
  return Status();
}

Status RocksDbProbe::ReadFamilies() {
  newest_.l0_files = newest_.immutable_memtables = newest_.debt_bytes = 0;
  for (size_t i = 0; i < families_.size(); ++i) {
    const Family& f = families_[i];
    const Result<LsmReading> reading = ReadFamily(f);
    if (!reading.ok()) return reading.status();
    engine_.Take(i, reading.value());
    if (f.geometry.BrakesForL0Files() && f.facts.l0_files >= newest_.l0_files) {
      newest_.l0_files = f.facts.l0_files;
      newest_.l0_files_at_one = f.geometry.L0FilesAtOne();
    }
    newest_.immutable_memtables += static_cast<uint64_t>(f.facts.immutable_memtables);
    newest_.debt_bytes += f.facts.pending_compaction_bytes;
  }
  return Status();
}

Result<LsmReading> RocksDbProbe::ReadFamily(const Family& f) const {
  // Never destroyed: a static monitor may sample until it is destroyed.
  static const std::string& kL0Files = *new std::string(Properties::kNumFilesAtLevelPrefix + "0");
  LsmReading reading;
  std::string before;
  std::string after;
  // A flush between two of these calls would show its file twice or not at all, so the files are read before and after.
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (!db_->GetProperty(f.handle, kL0Files, &before) ||
        !db_->GetIntProperty(f.handle, Properties::kNumImmutableMemTable, &reading.immutable_memtables) ||
        !db_->GetIntProperty(f.handle, Properties::kCurSizeActiveMemTable, &reading.active_memtable_bytes) ||
        !db_->GetProperty(f.handle, kL0Files, &after)) {
      return DoesNotAnswer(kL0Files + " of column family " + f.handle->GetName());
    }
    if (before == after) break;
  }
  uint64_t flush_pending = 0;
  uint64_t compaction_pending = 0;
  if (!db_->GetIntProperty(f.handle, Properties::kEstimatePendingCompactionBytes, &reading.pending_compaction_bytes) ||
      !db_->GetIntProperty(f.handle, Properties::kCompactionPending, &compaction_pending) ||
      !db_->GetIntProperty(f.handle, Properties::kMemTableFlushPending, &flush_pending)) {
    return DoesNotAnswer("what is pending in column family " + f.handle->GetName());
  }
  reading.flush_pending = flush_pending > 0;
  reading.compaction_pending = compaction_pending > 0;
  reading.l0_files = std::strtoull(after.c_str(), nullptr, 10);
  if (f.geometry.counts_runs) {
    if (Status status = CountRunsBelowL0(f, &reading.runs_below_l0); !status.ok()) return status;
  }
  return reading;
}

Status RocksDbProbe::CountRunsBelowL0(const Family& f, uint64_t* runs) const {
  std::string files;
  for (int level = 1; level < db_->NumberLevels(f.handle); ++level) {
    const std::string property = Properties::kNumFilesAtLevelPrefix + std::to_string(level);
    if (!db_->GetProperty(f.handle, property, &files)) return DoesNotAnswer(property);
    if (files != "0") ++*runs;
  }
  return Status();
}

Status RocksDbProbe::ReadAllCounters(TimePoint now) {
  const Result<double> user_bytes = ReadUserBytes(db_);
  if (!user_bytes.ok()) return user_bytes.status();
  newest_.slowdowns = newest_.stops = 0;
  newest_.score = 0;
  newest_.stall_causes.clear();
  newest_.levels.clear();
  std::vector<RocksDbCounters> counters;
  std::vector<bool> has_level_below;
  for (const Family& f : families_) {
    Result<RocksDbCounters> read = ReadCounters(db_, f.handle);
    if (!read.ok()) return read.status();
    RocksDbCounters& c = read.value();
    if (listener_) {
      const RocksDbListener::Flushed flushed = listener_->FlushedOf(f.handle->GetID());
      c.flushed_table_bytes = flushed.table_bytes;
      c.flushed_bytes = flushed.table_bytes + flushed.blob_bytes;
    }
    newest_.slowdowns += c.slowdowns;
    newest_.stops += c.stops;
    for (const auto& [cause, count] : c.stall_causes) newest_.stall_causes[cause] += count;
    newest_.score = std::max(newest_.score, c.highest_score);
    AddTo(c.levels, &newest_.levels);
    has_level_below.push_back(c.base_level < db_->NumberLevels(f.handle) - 1);
    counters.push_back(std::move(c));
  }
  engine_.TakeCounters(now, user_bytes.value(), std::move(counters), has_level_below);
  for (Family& f : families_) FollowOptions(&f);
  return Status();
}

void RocksDbProbe::ReadMemoryParts(TimePoint now) {
  // For displays only. A table format without a block cache does not answer, and the figure stays 0.
  newest_.block_cache_limit_bytes = block_cache_ ? block_cache_->GetCapacity() : 0;
  newest_.block_cache_bytes = newest_.pinned_bytes = newest_.memtable_bytes = 0;
  if (!families_.empty()) {
    db_->GetIntProperty(families_.front().handle, Properties::kBlockCacheUsage, &newest_.block_cache_bytes);
    db_->GetIntProperty(families_.front().handle, Properties::kBlockCachePinnedUsage, &newest_.pinned_bytes);
  }
  db_->GetAggregatedIntProperty(Properties::kSizeAllMemTables, &newest_.memtable_bytes);
  if (last_table_readers_ && now - *last_table_readers_ < kTableReadersInterval) return;
  last_table_readers_ = now;
  newest_.table_reader_bytes = 0;
  for (const Family& f : families_) {
    uint64_t bytes = 0;
    if (db_->GetIntProperty(f.handle, Properties::kEstimateTableReadersMem, &bytes))
      newest_.table_reader_bytes += bytes;
  }
}

void RocksDbProbe::AddEngineSignals(TimePoint now, LoadSample* sample) {
  double background_bytes_per_second = 0;
  uint64_t total_background_bytes = 0;
  if (io_limiter_) {
    background_bytes_per_second = static_cast<double>(io_limiter_->GetBytesPerSecond());
    total_background_bytes = static_cast<uint64_t>(io_limiter_->GetTotalBytesThrough(rocksdb::Env::IO_LOW) +
                                                   io_limiter_->GetTotalBytesThrough(rocksdb::Env::IO_HIGH));
  }
  engine_.AddSignals(now, background_bytes_per_second, total_background_bytes, sample);
}

void RocksDbProbe::AddBuffers(TimePoint now, LoadSample* sample) {
  const Signal* const memtables = sample->Find("memtables");
  if (memtables == nullptr) return;  // no family is watched
  if (buffers_.is_raised()) buffers_.MakeRoom(KeptBytes());
  SharedBuffers read = buffers_.Read();
  if (read.limit_bytes == 0) return;
  for (const Family& f : families_) {
    read.own_bytes += f.filling_bytes;
    read.largest_bytes = std::max(read.largest_bytes, f.filling_bytes);
    read.flushes_early = read.flushes_early || f.geometry.brakes_moved;
  }
  if (flushes_together_) read.largest_bytes = read.own_bytes;
  sample->Add(buffers_signal_.Update(now, read, memtables->drain_bytes_per_second, settings_.monitor.sample_interval));
  sample->flush_due = buffers_signal_.flush_due();
  sample->write_burst_bytes = std::min(sample->write_burst_bytes, std::max<uint64_t>(1, read.limit_bytes / kBurstPart));
  newest_.buffer_bytes = read.used_bytes;
  newest_.buffer_limit_bytes = read.limit_bytes;
  newest_.writes_stopped = newest_.writes_stopped || read.stopped;
  newest_.stall_causes["write_buffer_manager"] = buffers_.stops();
}

void RocksDbProbe::AddMemorySignals(const MemoryUse& use, LoadSample* sample) {
  sample->Add(own_.Level(settings_.monitor.sample_interval));
  AddMemory(use, target_bytes_, settings_.monitor.sample_interval, sample, own_.waiting_bytes());
}

// A listener counts exactly. Without one, the result is RocksDB's own count, or the number of samples that saw a brake
// begin, whichever is higher. Neither counts the stops of a WriteBufferManager.
uint64_t RocksDbProbe::Escapes() const {
  if (listener_) return listener_->slowdowns() + listener_->stops() + buffers_.stops();
  return std::max(escape_watch_.seen(), engine_.counted_brakes()) + buffers_.stops();
}

void RocksDbProbe::TellOfEscapes(TimePoint now, const LoadSample& sample) {
  if (!places_brakes_) return escape_watch_.PassOver(sample);
  std::string event =
      escape_watch_.Tell(now, newest_.writes_stopped, listener_ ? listener_->braked_family() : "", sample);
  if (!event.empty()) events_.push_back(std::move(event));
}

void RocksDbProbe::Publish(const LoadSample& sample, const MemoryUse& use) {
  newest_.l0_cycle_seconds = 0;
  for (const Family& f : families_) {
    newest_.l0_cycle_seconds = std::max(newest_.l0_cycle_seconds, ToSeconds(f.signals.l0_cycle()));
  }
  const auto drain_of = [&sample](std::string_view name) {
    const Signal* signal = sample.Find(name);
    return signal == nullptr ? 0 : signal->drain_bytes_per_second;
  };
  newest_.drain_bytes_per_second = drain_of("l0");
  newest_.flush_bytes_per_second = drain_of("memtables");
  newest_.background_bytes_per_second = families_.empty() ? 0 : families_.front().signals.BackgroundBytesPerSecond();
  newest_.disk_per_user_byte = engine_.disk_bytes_per_user_byte();
  newest_.memory = use;
  newest_.memory_target_bytes = target_bytes_;
  newest_.own_bytes = own_.bytes();
  const MutexLock lock(details_mutex_);
  details_ = newest_;
}

RocksDbDetails RocksDbProbe::Details() const {
  const MutexLock lock(details_mutex_);
  return details_;
}

bool RocksDbProbe::AdvisesToThrottleWrites(const LoadSample& sample) const {
  return Details().l0_files > settings_.l0_threshold || sample.LevelOf("score") > 1;
}

bool RocksDbProbe::AdvisesToThrottleReads(const LoadSample& sample) const {
  return sample.LevelOf("score") > kReadScoreFactor;
}

}  // namespace weir
