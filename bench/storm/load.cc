#include "bench/storm/load.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>

namespace weir {
namespace {

// Each interactive client and each scanner is a party of its own.
constexpr uint64_t kFirstWriter = 1000;
constexpr uint64_t kFirstReader = 2000;
constexpr uint64_t kFirstScanner = 50;
constexpr Duration kLongestNap = std::chrono::milliseconds(20);

}  // namespace

StormLoad::StormLoad(StormEngine& engine, Policy& policy, const LoadOptions& options, int phases)
    : engine_(engine),
      policy_(policy),
      options_(options),
      bulk_writers_(std::accumulate(options.writers_of_party.begin(), options.writers_of_party.end(), 0)),
      writes_(options.writes_per_second, 2),
      reads_(options.reads_per_second, 3),
      sleeps_(options.writes_per_second, 4) {
  for (int i = 0; i < phases; ++i) {
    figures_.push_back(std::make_unique<FeltFigures>());
    figures_.back()->party_bytes = std::vector<std::atomic<uint64_t>>(options.writers_of_party.size());
  }
}

StormLoad::~StormLoad() { (void)Stop(); }

void StormLoad::Start() {
  BeginPhase(0, BulkLoad::Kind::kNone, 0);
  const TimePoint now = Clock::System().Now();
  last_write_end_ = now;
  writes_.Begin(now);
  reads_.Begin(now);
  sleeps_.Begin(now);
  for (int i = 0; i < options_.writing_clients; ++i)
    threads_.emplace_back([this, i] { WriteInteractive(static_cast<uint64_t>(i)); });
  if (options_.reads_per_second > 0)
    for (int i = 0; i < options_.reading_clients; ++i)
      threads_.emplace_back([this, i] { ReadInteractive(static_cast<uint64_t>(i)); });
  uint64_t writer = 0;
  for (size_t party = 0; party < options_.writers_of_party.size(); ++party)
    for (int i = 0; i < options_.writers_of_party[party]; ++i, ++writer)
      threads_.emplace_back([this, party, writer] { WriteBulk(party, writer); });
  for (int i = 0; i < options_.sleepers; ++i) threads_.emplace_back([this] { OnlySleep(); });
  for (int i = 0; i < options_.scanners; ++i) threads_.emplace_back([this, i] { ScanLong(static_cast<uint64_t>(i)); });
}

void StormLoad::BeginPhase(int phase, BulkLoad::Kind bulk, double bulk_bytes_per_second) {
  std::lock_guard lock(mutex_);
  starts_.push_back({Clock::System().Now(), phase});
  bulk_ = bulk;
  bulk_bytes_per_second_ = bulk_bytes_per_second;
  bulk_changed_.notify_all();
}

Status StormLoad::Stop() {
  stop_ = true;
  {
    std::lock_guard lock(mutex_);
    bulk_changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  std::lock_guard lock(mutex_);
  return error_;
}

void StormLoad::TakeRecent(RecentLoad& into) {
  std::lock_guard lock(mutex_);
  into.write_max = std::exchange(recent_.write_max, {});
  into.read_max = std::exchange(recent_.read_max, {});
  into.bulk_wait_max = std::exchange(recent_.bulk_wait_max, {});
  into.writes.Merge(recent_.writes);
  recent_.writes.Clear();
}

FeltFigures& StormLoad::FiguresAt(TimePoint intended) {
  std::lock_guard lock(mutex_);
  auto start = std::find_if(starts_.rbegin(), starts_.rend(), [&](const PhaseStart& s) { return s.at <= intended; });
  return *figures_[static_cast<size_t>(start == starts_.rend() ? starts_.front().phase : start->phase)];
}

TimePoint PoissonSchedule::Next() {
  std::lock_guard lock(mutex_);
  return next_ += FromSeconds(gap_s_(random_));
}

void StormLoad::WriteInteractive(uint64_t client) {
  const Clock& clock = Clock::System();
  std::mt19937_64 random(kFirstWriter + client);
  while (!stop_) {
    const TimePoint intended = writes_.Next();
    std::this_thread::sleep_until(intended);
    rocksdb::WriteBatch batch;
    engine_.AddInteractivePut(random, &batch);
    const WriteResult result = policy_.Write({.id = kFirstWriter + client}, batch);
    const TimePoint end = clock.Now();
    FeltFigures& figures = FiguresAt(intended);
    if (result.refused) {
      ++figures.refused;
      continue;
    }
    if (!result.status.ok()) return Fail(result.status);
    figures.writes.Record(end - intended);
    std::lock_guard lock(mutex_);
    figures.longest_gap_ns = std::max(figures.longest_gap_ns.load(), (end - last_write_end_).count());
    last_write_end_ = std::max(last_write_end_, end);
    recent_.write_max = std::max(recent_.write_max, end - intended);
    recent_.writes.Record(end - intended);
  }
}

void StormLoad::ReadInteractive(uint64_t client) {
  const Clock& clock = Clock::System();
  std::mt19937_64 random(kFirstReader + client);
  std::bernoulli_distribution is_scan(options_.scan_share);
  while (!stop_) {
    const TimePoint intended = reads_.Next();
    std::this_thread::sleep_until(intended);
    const bool scan = is_scan(random);
    const size_t bytes = engine_.shape().value_bytes * static_cast<size_t>(scan ? options_.scan_values : 1);
    rocksdb::Status status;
    const bool read = policy_.Read({.id = kFirstReader + client}, bytes, [&] {
      status = scan ? engine_.Scan(random, options_.scan_values) : engine_.Get(random);
    });
    const Duration latency = clock.Now() - intended;
    FeltFigures& figures = FiguresAt(intended);
    if (!read) {
      ++figures.refused;
      continue;
    }
    if (!status.ok()) return Fail(status);
    (scan ? figures.scans : figures.reads).Record(latency);
    std::lock_guard lock(mutex_);
    recent_.read_max = std::max(recent_.read_max, latency);
  }
}

// Waits until bulk work may start; in an open loop, until its intended time. Returns false if the load has stopped.
bool StormLoad::WaitForBulk(TimePoint* intended, size_t bytes) {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const TimePoint now = Clock::System().Now();
    if (bulk_ == BulkLoad::Kind::kClosedLoop) return true;
    if (bulk_ == BulkLoad::Kind::kNone) {
      bulk_changed_.wait(lock);
      *intended = Clock::System().Now();
      continue;
    }
    if (*intended <= now) {
      *intended += FromSeconds(static_cast<double>(bytes) * bulk_writers_ / bulk_bytes_per_second_);
      return true;
    }
    bulk_changed_.wait_for(lock, std::min(*intended - now, kLongestNap));
  }
  return false;
}

void StormLoad::WriteBulk(size_t party, uint64_t writer) {
  std::mt19937_64 random(kFirstParty + writer);
  const StormShape& shape = engine_.shape();
  const int values = shape.writes == StormShape::Writes::kIngested ? shape.bulk_batch
                                                                   : std::min(shape.bulk_batch, policy_.LargestBatch());
  const Party who{.id = kFirstParty + party, .work_class = WorkClass::kBulk};
  TimePoint intended = Clock::System().Now();
  while (WaitForBulk(&intended, static_cast<size_t>(values) * shape.value_bytes)) {
    rocksdb::WriteBatch batch;
    for (int i = 0; i < values; ++i) engine_.AddBulkChange(random, &batch);
    const WriteResult result = policy_.Write(who, batch);
    if (result.refused) {
      // A policy that stops refuses all that wait, without a time to try again.
      if (result.retry_after > Duration::zero()) ++FiguresAt(Clock::System().Now()).bulk_refused;
      std::this_thread::sleep_for(std::min(result.retry_after, kLongestNap));
      continue;
    }
    if (!result.status.ok()) return Fail(result.status);
    FeltFigures& figures = FiguresAt(Clock::System().Now());
    figures.bulk_bytes += batch.GetDataSize();
    figures.party_bytes[party] += batch.GetDataSize();
    std::lock_guard lock(mutex_);
    recent_.bulk_wait_max = std::max(recent_.bulk_wait_max, result.waited);
  }
}

void StormLoad::ScanLong(uint64_t scanner) {
  std::mt19937_64 random(kFirstScanner + scanner);
  const size_t bytes = engine_.shape().value_bytes * static_cast<size_t>(options_.long_scan_values);
  TimePoint unused{};
  while (WaitForBulk(&unused, bytes)) {
    rocksdb::Status status;
    const bool read = policy_.Read({.id = kFirstScanner + scanner, .work_class = WorkClass::kBulk}, bytes,
                                   [&] { status = engine_.Scan(random, options_.long_scan_values); });
    if (!read) {
      std::this_thread::sleep_for(kLongestNap);
      continue;
    }
    if (!status.ok()) return Fail(status);
    ++FiguresAt(Clock::System().Now()).long_scans;
  }
}

void StormLoad::OnlySleep() {
  while (!stop_) {
    const TimePoint intended = sleeps_.Next();
    std::this_thread::sleep_until(intended);
    const Duration late = Clock::System().Now() - intended;
    FiguresAt(intended).lateness.Record(late);
  }
}

void StormLoad::Fail(const rocksdb::Status& status) {
  stop_ = true;
  std::lock_guard lock(mutex_);
  bulk_changed_.notify_all();
  if (error_.ok()) error_ = Status::Error("RocksDB: " + status.ToString());
}

}  // namespace weir
