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

constexpr Duration kCountersInterval = std::chrono::seconds(1);
// After L0 was emptied, the counters are read after this shorter time, so that the drain counts with the busy time to
// which it belongs.
constexpr Duration kLeastCountersInterval = std::chrono::milliseconds(300);
// RocksDB walks all table readers to answer this property.
constexpr Duration kTableReadersInterval = std::chrono::seconds(10);

// After this time without a brake of RocksDB's, the next one is told again.
constexpr Duration kLeastCalm = std::chrono::seconds(10);

// By design the advice is to slow reads at a score of 2.0, writes at 1.5: a backlog slows reads down later than it
// endangers writes.
constexpr double kReadScoreFactor = 2.0 / 1.5;

// A family that takes a smaller share counts as if it took this one: the reaction to its level is strong enough.
constexpr double kLeastShare = 0.1;

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
  const Duration age = last_counters_ ? now - *last_counters_ : kCountersInterval;
  if (age < Duration::zero() || age >= kCountersInterval || (l0_changed_ && age >= kLeastCountersInterval)) {
    if (!seen_version_ || seen_version_ != counted_version_) {
      if (Status status = ReadAllCounters(); !status.ok()) return status;
      counted_version_ = seen_version_;
    }
    last_counters_ = now;
    ReadMemoryParts(now);
  }
  if (cache_share_ < 1) FitCache();
  const Result<MemoryUse> use = memory_.ReadUse();
  if (!use.ok()) return use.status();

  sample->write_burst_bytes = burst_.Bytes();
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
  const bool braking = delayed > 0 || stopped > 0;
  if (braking && !braking_) ++seen_brakes_;
  braking_ = braking;
  newest_.delayed_bytes_per_second = static_cast<double>(delayed);
  newest_.writes_stopped = stopped > 0;
  const bool works = compactions > 0 || flushes > 0 || braking;
  if (!works && seen_version_ == version) return Status();

  sums_.compacting = compactions > 0;
  sums_.flushing = flushes > 0;
  if (Status status = ReadFamilies(); !status.ok()) return status;
  const bool rests = !works && !sums_.compacting && !sums_.flushing;
  seen_version_ = rests ? std::optional(version) : std::nullopt;
  return Status();
}

Status RocksDbProbe::ReadFamilies() {
  newest_.l0_files = newest_.immutable_memtables = newest_.debt_bytes = 0;
  for (Family& f : families_) {
    if (Status status = ReadFamily(&f); !status.ok()) return status;
    sums_.compacting = sums_.compacting || f.compaction_pending;
    sums_.flushing = sums_.flushing || f.flush_pending;
    if (f.geometry.BrakesForL0Files() && f.facts.l0_files >= newest_.l0_files) {
      newest_.l0_files = f.facts.l0_files;
      newest_.l0_files_at_one = f.geometry.L0FilesAtOne();
    }
    newest_.immutable_memtables += static_cast<uint64_t>(f.facts.immutable_memtables);
    newest_.debt_bytes += f.facts.pending_compaction_bytes;
  }
  return Status();
}

Status RocksDbProbe::ReadFamily(Family* f) {
  // Never destroyed: a static monitor may sample until it is destroyed.
  static const std::string& kL0Files = *new std::string(Properties::kNumFilesAtLevelPrefix + "0");
  uint64_t immutable = 0;
  uint64_t active_bytes = 0;
  std::string before;
  std::string after;
  // A flush between two of these calls would show its file twice or not at all, so the files are read before and after.
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (!db_->GetProperty(f->handle, kL0Files, &before) ||
        !db_->GetIntProperty(f->handle, Properties::kNumImmutableMemTable, &immutable) ||
        !db_->GetIntProperty(f->handle, Properties::kCurSizeActiveMemTable, &active_bytes) ||
        !db_->GetProperty(f->handle, kL0Files, &after)) {
      return DoesNotAnswer(kL0Files + " of column family " + f->handle->GetName());
    }
    if (before == after) break;
  }
  uint64_t flush_pending = 0;
  uint64_t compaction_pending = 0;
  LsmFacts& facts = f->facts;
  if (!db_->GetIntProperty(f->handle, Properties::kEstimatePendingCompactionBytes, &facts.pending_compaction_bytes) ||
      !db_->GetIntProperty(f->handle, Properties::kCompactionPending, &compaction_pending) ||
      !db_->GetIntProperty(f->handle, Properties::kMemTableFlushPending, &flush_pending)) {
    return DoesNotAnswer("what is pending in column family " + f->handle->GetName());
  }
  f->flush_pending = flush_pending > 0;
  f->compaction_pending = compaction_pending > 0;

  uint64_t l0_files = std::strtoull(after.c_str(), nullptr, 10);
  if (f->geometry.counts_runs) {
    uint64_t runs = 0;
    if (Status status = CountRunsBelowL0(*f, &runs); !status.ok()) return status;
    l0_files += runs;
    const uint64_t gone = facts.l0_files > l0_files ? facts.l0_files - l0_files : 0;
    sums_.total_drained_bytes += static_cast<uint64_t>(static_cast<double>(gone * f->geometry.write_buffer_bytes) *
                                                       f->geometry.buffers_per_flush * disk_ratio_.value());
  }
  const bool several_flushed = facts.immutable_memtables > static_cast<int>(immutable) + 1;
  l0_changed_ = l0_changed_ || l0_files < facts.l0_files || several_flushed;
  facts.l0_files = l0_files;
  facts.immutable_memtables = static_cast<int>(immutable);
  const uint64_t buffer = f->geometry.write_buffer_bytes;
  f->filling_bytes = std::min(active_bytes, buffer);
  facts.memtable_bytes = immutable * buffer + f->filling_bytes;
  return Status();
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

Status RocksDbProbe::ReadAllCounters() {
  const Result<double> user_bytes = ReadUserBytes(db_);
  if (!user_bytes.ok()) return user_bytes.status();
  const auto grown = [](double now, double before) { return static_cast<uint64_t>(std::max(0.0, now - before)); };
  // Bytes that are still in memtables will be flushed later.
  double left_memtables = user_bytes.value();
  for (const Family& f : families_) left_memtables -= static_cast<double>(f.facts.memtable_bytes);
  const uint64_t flushed_before = sums_.total_flushed_bytes;
  const bool first = !last_counters_;
  newest_.slowdowns = newest_.stops = 0;
  newest_.score = 0;
  newest_.stall_causes.clear();
  newest_.levels.clear();
  for (size_t i = 0; i < families_.size(); ++i) {
    Family& f = families_[i];
    Result<RocksDbCounters> read = ReadCounters(db_, f.handle);
    if (!read.ok()) return read.status();
    if (listener_) {
      const RocksDbListener::Flushed flushed = listener_->FlushedOf(f.handle->GetID());
      read.value().flushed_table_bytes = flushed.table_bytes;
      read.value().flushed_bytes = flushed.table_bytes + flushed.blob_bytes;
    }
    const RocksDbCounters& c = read.value();
    const uint64_t memtables_before = std::exchange(f.counted_memtables, f.facts.memtable_bytes);
    if (f.counted) {
      const double flushed = std::max(0.0, c.flushed_bytes - f.counters.flushed_bytes) / disk_ratio_.value();
      burst_.Took(i, flushed + static_cast<double>(f.counted_memtables) - static_cast<double>(memtables_before));
      f.table_share.Update(std::max(0.0, c.flushed_bytes - f.counters.flushed_bytes),
                           std::max(0.0, c.flushed_table_bytes - f.counters.flushed_table_bytes));
      sums_.total_flushed_bytes += grown(c.flushed_bytes, f.counters.flushed_bytes);
      sums_.total_compacted_bytes += grown(c.compaction_written_bytes, f.counters.compaction_written_bytes);
      // Each level has counters of its own, so there is no difference to add when the base level has moved.
      if (c.base_level == f.counters.base_level && !f.geometry.counts_runs) {
        sums_.total_drained_bytes += grown(c.drained_from_l0_bytes, f.counters.drained_from_l0_bytes);
        // The bytes of a last level need not move on.
        if (c.base_level < db_->NumberLevels(f.handle) - 1)
          sums_.l1_bytes += static_cast<int64_t>(c.base_level_bytes - f.counters.base_level_bytes);
      }
    }
    newest_.slowdowns += c.slowdowns;
    newest_.stops += c.stops;
    for (const auto& [cause, count] : c.stall_causes) newest_.stall_causes[cause] += count;
    newest_.score = std::max(newest_.score, c.highest_score);
    AddTo(c.levels, &newest_.levels);
    f.facts.deepest_score = c.highest_score;
    f.counters = std::move(read).value();
    f.counted = true;
    FollowOptions(&f);
  }
  const uint64_t brakes = newest_.slowdowns + newest_.stops;
  // After DB::ResetStats the counters begin at 0 again.
  if (!first) counted_brakes_ += brakes < last_brakes_ ? brakes : brakes - last_brakes_;
  if (!first && user_bytes.value() >= user_bytes_) {
    disk_ratio_.Update(left_memtables - left_memtables_,
                       static_cast<double>(sums_.total_flushed_bytes - flushed_before));
  }
  last_brakes_ = brakes;
  user_bytes_ = user_bytes.value();
  left_memtables_ = left_memtables;
  l0_changed_ = false;
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

// All families share the threads that flush and compact, so each family's signals use the sums; only the levels come
// from its own facts. A family receives only a share of the bytes that are written, so more bytes are needed to raise
// its level.
void RocksDbProbe::AddEngineSignals(TimePoint now, LoadSample* sample) {
  double background_bytes_per_second = 0;
  uint64_t total_background_bytes = 0;
  if (io_limiter_) {
    background_bytes_per_second = static_cast<double>(io_limiter_->GetBytesPerSecond());
    total_background_bytes = static_cast<uint64_t>(io_limiter_->GetTotalBytesThrough(rocksdb::Env::IO_LOW) +
                                                   io_limiter_->GetTotalBytesThrough(rocksdb::Env::IO_HIGH));
  }
  for (size_t i = 0; i < families_.size(); ++i) {
    Family& f = families_[i];
    LsmFacts facts = f.facts;
    const double mean_file = f.counters.l0_files > 0 ? f.counters.l0_bytes / f.counters.l0_files : 0;
    // Until the counters are read again, fewer files count as the bytes that were there before: RocksDB may have merged
    // them within L0, and the new number times the old mean size would show a drain that did not happen.
    const double files = l0_changed_ ? std::max(static_cast<double>(facts.l0_files), f.counters.l0_files)
                                     : static_cast<double>(facts.l0_files);
    facts.l1_size_bytes = static_cast<uint64_t>(f.counters.base_level_bytes);
    // The flush of a few bytes takes as long as syncing a file does, and says nothing about the speed.
    const bool flushed_much = f.counters.flushed_bytes >= static_cast<double>(f.geometry.write_buffer_bytes);
    facts.flush_bytes_per_second = flushed_much ? f.counters.flush_bytes_per_second : 0;
    // A run may hold all data, merged, so only the number of runs counts.
    facts.l0_bytes = f.geometry.counts_runs ? 0 : static_cast<uint64_t>(files * mean_file);
    facts.flushing = sums_.flushing;
    facts.compacting = sums_.compacting;
    facts.background_bytes_per_second = background_bytes_per_second;
    facts.total_background_bytes = total_background_bytes;
    facts.total_flushed_bytes = sums_.total_flushed_bytes;
    facts.total_drained_bytes = sums_.total_drained_bytes;
    facts.total_compacted_bytes = sums_.total_compacted_bytes;
    facts.l1_bytes = sums_.l1_bytes;
    facts.disk_bytes_per_user_byte = disk_ratio_.value();
    facts.table_bytes_per_user_byte = disk_ratio_.value() * f.table_share.value();

    LoadSample own;
    f.signals.Update(now, facts, &own);
    for (Signal signal : own.signals()) {
      signal.bytes_per_level /= std::max(kLeastShare, burst_.ShareOf(i));
      sample->AddHighest(signal);
    }
  }
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
  return std::max(seen_brakes_, counted_brakes_) + buffers_.stops();
}

// The level at that moment shows the operator whether weir knew of the load.
void RocksDbProbe::TellOfEscapes(TimePoint now, const LoadSample& sample) {
  const bool braked = seen_escapes_ && (braking_ || sample.escapes > *seen_escapes_);
  seen_escapes_ = sample.escapes;
  if (!places_brakes_ || !braked) return;
  const bool goes_on = last_escape_ && now - *last_escape_ < kLeastCalm;
  last_escape_ = now;
  if (goes_on) return;
  const std::string family = listener_ ? listener_->braked_family() : "";
  std::string levels;
  for (const Signal& s : sample.signals())
    if (s.acts_on_writes)
      levels += " " + std::string(s.name) + " " + std::to_string(std::lround(s.level * 100)) + " %,";
  if (!levels.empty()) levels.back() = '.';
  events_.push_back(
      std::string("RocksDB ") + (newest_.writes_stopped ? "stops" : "slows down") +
      " writes by itself although they are limited" + (family.empty() ? "" : ", because of column family " + family) +
      ". Let all writes ask for admission, and watch all column families. RocksDB brakes at 100 %; now:" + levels);
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
  newest_.disk_per_user_byte = disk_ratio_.value();
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
