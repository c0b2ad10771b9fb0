// The part of RocksDbProbe that follows the database as it changes: its families, their options and brakes, its end.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "monitors/memory_target.h"
#include "monitors/rocksdb_mark.h"
#include "monitors/rocksdb_opened.h"
#include "monitors/rocksdb_probe.h"
#include "monitors/rocksdb_version.h"
#include "rocksdb/rate_limiter.h"

namespace weir {
namespace {

// Below this share of the target, memory alone limits no writes, and jemalloc is asked only after this time, or if
// much has changed.
constexpr double kExactMemoryShare = 0.6;
constexpr Duration kInexactInterval = std::chrono::seconds(1);
static_assert(kExactMemoryShare < kLeastMemorySetpoint);

std::shared_ptr<RocksDbListener> ListenerOf(rocksdb::DB* db) {
  for (const auto& listener : db->GetDBOptions().listeners)
    if (auto own = std::dynamic_pointer_cast<RocksDbListener>(listener)) return own;
  return nullptr;
}

std::optional<std::weak_ptr<rocksdb::Logger>> LogOf(rocksdb::DB* db) {
  const std::shared_ptr<rocksdb::Logger> log = db->GetDBOptions().info_log;
  return log ? std::optional(std::weak_ptr(log)) : std::nullopt;
}

// Takes over from `opened` all that PrepareRocksDb does not move.
void TakeSizes(const LsmGeometry& opened, LsmGeometry* geometry) {
  geometry->write_buffer_bytes = opened.write_buffer_bytes;
  geometry->l0_trigger = opened.l0_trigger;
  geometry->l1_bytes = opened.l1_bytes;
  geometry->compaction_brakes = opened.compaction_brakes;
}

void TakeBrakes(const LsmGeometry& opened, LsmGeometry* geometry) {
  geometry->brakes = opened.brakes;
  geometry->brakes_moved = false;
}

}  // namespace

// A program may destroy a wrapper (StackableDB) before the database, so the probe calls the database itself.
RocksDbProbe::RocksDbProbe(rocksdb::DB* db, const RocksDbMonitor::Handles& handles, const PreparedRocksDb* prepared,
                           uint64_t target_bytes, const RocksDbMonitorSettings& settings)
    : settings_(settings),
      target_bytes_(target_bytes),
      own_(settings.own_budget_mb, target_bytes),
      prepared_(prepared != nullptr ? prepared->geometry : std::map<std::string, LsmGeometry>()),
      listener_(ListenerOf(db)),
      block_cache_(prepared != nullptr ? prepared->block_cache : nullptr),
      full_cache_bytes_(prepared != nullptr ? prepared->budget.block_cache_bytes : 0),
      db_(db->GetRootDB()),
      default_handle_(db->DefaultColumnFamily()),
      log_(LogOf(db)),
      flushes_together_(db->GetDBOptions().atomic_flush),
      io_limiter_(db->GetDBOptions().rate_limiter),
      buffers_(db->GetDBOptions().write_buffer_manager),
      memory_({}, static_cast<uint64_t>(kExactMemoryShare * static_cast<double>(target_bytes)),
              kInexactInterval / settings.monitor.sample_interval) {
  {
    const MutexLock lock(db_mutex_);
    for (auto* handle : handles)
      if (const Status added = AddFamilyLocked(handle); !added.ok()) throw std::invalid_argument(added.message());
  }
  if (listener_) listener_->AddWatcher(this, [this](const auto* handle) { HandleDeleted(handle); });
}

// The watcher is removed while no mutex is held, because a call of it that runs waits for the mutexes.
void RocksDbProbe::Detach() {
  if (birth_.IsForked()) return;
  if (listener_) listener_->RemoveWatcher(this);
  const MutexLock change(change_mutex_);
  const MutexLock lock(db_mutex_);
  Forget();
}

void RocksDbProbe::Forget() {
  db_ = nullptr;
  forgotten_ = true;
  families_.clear();
  FamiliesChanged();
  buffers_.GiveBack();
  if (std::exchange(cache_share_, 1) < 1 && block_cache_) block_cache_->SetCapacity(full_cache_bytes_);
}

// DB::Close deletes the default handle and leaves the DB object.
bool RocksDbProbe::IsClosed() const { return db_ == nullptr || IsLogGone() || db_->DefaultColumnFamily() == nullptr; }

void RocksDbProbe::HandleDeleted(const rocksdb::ColumnFamilyHandle* handle) {
  const MutexLock change(change_mutex_);
  const MutexLock lock(db_mutex_);
  if (handle == default_handle_) return Forget();
  if (std::erase_if(families_, [handle](const Family& f) { return f.handle == handle; }) > 0) FamiliesChanged();
}

std::vector<RocksDbProbe::Family>::iterator RocksDbProbe::Find(uint32_t id) {
  return std::find_if(families_.begin(), families_.end(), [id](const Family& f) { return f.handle->GetID() == id; });
}

void RocksDbProbe::FamiliesChanged() {
  std::vector<LsmFamily*> families;
  for (Family& f : families_) families.push_back(&f);
  engine_.SetFamilies(std::move(families));
  seen_version_.reset();
  counted_version_.reset();
}

Status RocksDbProbe::AddFamily(rocksdb::ColumnFamilyHandle* handle) {
  const MutexLock change(change_mutex_);
  rocksdb::DB* db = nullptr;
  {
    const MutexLock lock(db_mutex_);
    if (IsClosed()) return Closed();
    db = db_;
  }
  // The same checks as those of the constructor.
  if (Status good = CheckOpened(db, {handle}, nullptr, target_bytes_); !good.ok()) return good;
  {
    const MutexLock lock(db_mutex_);
    if (IsClosed()) return Closed();
    if (Status added = AddFamilyLocked(handle); !added.ok()) return added;
    if (!places_brakes_) return {};
  }
  return PlaceAllBrakes();
}

// The program may destroy its own handle of the default family early; the database keeps one until it is closed.
//
// A family whose options have no mark was not opened with prepared options, even if it has the name of a prepared
// family that was dropped. To move its brakes would leave moved brakes that a later PrepareRocksDb takes for the
// program's.
Status RocksDbProbe::AddFamilyLocked(rocksdb::ColumnFamilyHandle* handle) {
  if (Find(handle->GetID()) != families_.end())
    return Status::Error("column family " + handle->GetName() + " is watched already: give its handle only once");
  if (handle->GetID() == 0) handle = db_->DefaultColumnFamily();
  const rocksdb::ColumnFamilyOptions options = db_->GetOptions(handle);
  const auto known = prepared_.find(handle->GetName());
  const bool as_prepared = known != prepared_.end() && (IsMarked(options) || !known->second.brakes_moved);
  LsmGeometry geometry = as_prepared ? known->second : GeometryOf(options);
  geometry.score_threshold = settings_.score_threshold;
  Family& family = families_.emplace_back(geometry, settings_.monitor.sample_interval);
  family.handle = handle;
  family.prepared_brakes = BrakesOf(geometry);
  family.seen = GeometryAsSet(options);
  family.seen_brakes = BrakesIn(options);
  family.moves_brakes = geometry.brakes_moved;
  FamiliesChanged();
  return {};
}

Status RocksDbProbe::RemoveFamily(rocksdb::ColumnFamilyHandle* handle) {
  const MutexLock change(change_mutex_);
  rocksdb::DB* db = nullptr;
  FamilyChanges changes;
  {
    const MutexLock lock(db_mutex_);
    if (IsClosed()) return {};
    if (handle == nullptr) return Status::Error("the handle of a column family to remove is a null pointer");
    db = db_;
    const auto found = Find(handle->GetID());
    if (found == families_.end()) return Status::Error("column family " + handle->GetName() + " is not watched");
    NoticeOptions(&*found);
    if (found->moves_brakes) {
      if (OptionChanges back = ChangesTo(found->geometry.brakes, db->GetOptions(found->handle)); !back.empty())
        changes.emplace(found->handle, std::move(back));
    }
    families_.erase(found);
    FamiliesChanged();
  }
  return Change(db, changes);
}

Status RocksDbProbe::PlaceBrakes(bool moved) {
  const MutexLock change(change_mutex_);
  {
    const MutexLock lock(db_mutex_);
    if (IsClosed()) return moved ? Closed() : Status();
    places_brakes_ = moved;
  }
  return PlaceAllBrakes();
}

void RocksDbProbe::Adjust() {
  const MutexLock change(change_mutex_);
  must_adjust_ = false;
  const Status placed = PlaceAllBrakes();
  const MutexLock lock(db_mutex_);
  if (!placed.ok()) events_.push_back(placed.message());
}

Status RocksDbProbe::PlaceAllBrakes() {
  rocksdb::DB* db = nullptr;
  FamilyChanges changes;
  {
    const MutexLock lock(db_mutex_);
    if (IsClosed()) return {};
    db = db_;
    for (Family& f : families_) {
      if (OptionChanges places = DecideBrakes(&f); !places.empty()) changes.emplace(f.handle, std::move(places));
    }
  }
  Status placed = Change(db, changes);
  const MutexLock lock(db_mutex_);
  for (Family& f : families_) {
    const std::optional<LsmBrakes> changed_to = std::exchange(f.in_change, std::nullopt);
    if (!changed_to) continue;
    // Other brakes are the program's, or RocksDB has refused these.
    if (BrakesIn(db->GetOptions(f.handle)) == *changed_to) f.seen_brakes = *changed_to;
    FollowOptions(&f);
  }
  return placed;
}

// The brakes go to exactly where PrepareRocksDb put them, even if the program has changed the trigger since, because a
// later PrepareRocksDb knows only those (rocksdb_mark.h).
OptionChanges RocksDbProbe::DecideBrakes(Family* f) {
  NoticeOptions(f);
  TakeSizes(f->seen, &f->geometry);  // the program may have changed them since PrepareRocksDb
  f->geometry.brakes_moved = f->moves_brakes && places_brakes_;
  f->lifted_brakes = f->geometry.brakes_moved && ShouldLift(*f);
  f->signals.SetGeometry(f->geometry);
  if (!f->moves_brakes) return {};
  const LsmBrakes& brakes = f->geometry.brakes_moved ? f->prepared_brakes : f->geometry.brakes;
  const rocksdb::ColumnFamilyOptions options = db_->GetOptions(f->handle);
  const LsmBrakes wanted = FitTo(options, f->lifted_brakes ? LiftedBrakes(brakes) : brakes);
  OptionChanges changes = ChangesTo(wanted, options);
  if (!changes.empty()) f->in_change = wanted;
  return changes;
}

// RocksDB changes options in its queue of writers, which may stand because the memtables are too large.
Status RocksDbProbe::Change(rocksdb::DB* db, const FamilyChanges& changes) {
  if (changes.empty()) return {};
  return buffers_.WithoutLimit([&] { return ChangeOptions(db, changes); });
}

bool RocksDbProbe::ShouldLift(const Family& f) const {
  if (!f.geometry.compaction_brakes) return true;
  const LsmBrakes& brakes = f.prepared_brakes;
  return f.lifted_brakes &&
         (f.facts.l0_files >= static_cast<uint64_t>(brakes.l0_slowdown) ||
          (brakes.soft_pending_bytes > 0 && f.facts.pending_compaction_bytes >= brakes.soft_pending_bytes));
}

void RocksDbProbe::NoticeOptions(Family* f) {
  if (f->in_change) return;
  const rocksdb::ColumnFamilyOptions options = db_->GetOptions(f->handle);
  const LsmGeometry now = GeometryAsSet(options);
  const LsmBrakes brakes = BrakesIn(options);
  if (now == f->seen && brakes == f->seen_brakes) return;
  seen_version_.reset();  // the figures depend on the options
  if (brakes != f->seen_brakes) {
    TakeBrakes(now, &f->geometry);
    f->moves_brakes = f->lifted_brakes = false;
  }
  const bool other_buffers = now.write_buffer_bytes != f->seen.write_buffer_bytes;
  TakeSizes(now, &f->geometry);
  f->signals.SetGeometry(f->geometry);
  f->seen = now;
  f->seen_brakes = brakes;
  if (other_buffers) engine_.BuffersChanged();
}

void RocksDbProbe::FollowOptions(Family* f) {
  NoticeOptions(f);
  if (places_brakes_ && f->moves_brakes && f->lifted_brakes != ShouldLift(*f)) must_adjust_ = true;
}

}  // namespace weir
