#include "relay/store/database.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "config/sync_directory.h"
#include "config/text/parse.h"
#include "config/text/readable.h"
#include "monitors/rocksdb_listener.h"
#include "monitors/rocksdb_version.h"
#include "relay/account/work_pool.h"
#include "relay/search/searched_kinds.h"
#include "relay/store/engine_log.h"
#include "relay/store/keys.h"
#include "relay/store/store_options.h"
#include "rocksdb/utilities/options_util.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;

bool HasDatabase(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::path(path) / "CURRENT", error);
}

// Returns the total size of the write-ahead logs.
uint64_t LogBytes(const std::string& path) {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator file(path, error), end; !error && file != end; file.increment(error)) {
    std::error_code gone;
    const uintmax_t size = file->path().extension() == ".log" ? file->file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

constexpr int kTriesBesideWriter = 20;

// Compactions have a lower priority than the workers, which answer REQs. With a higher one (nice 5) a REQ's p99 beside
// an import was 22.8 ms; with this one it was 17.4 ms, and the import did 12,700 events a second instead of 10,900.
constexpr int kCompactionNice = WorkPool::kNice + 2;

// Returns the name and length of the current manifest, which change with every flush and compaction; empty if there is
// none.
std::string ManifestState(const std::string& path) {
  std::string name;
  std::ifstream current(path + "/CURRENT");
  std::getline(current, name);
  std::error_code error;
  const uintmax_t size = name.empty() ? 0 : fs::file_size(fs::path(path) / name, error);
  return name.empty() || error ? "" : name + " " + std::to_string(size);
}

Status MakeDirectory(const StoreOptions& options) {
  if (HasDatabase(options.path)) return {};
  if (!options.create || options.read_only)
    return Status::Error("there is no database in " + options.path + "; a relay or an import makes one");
  const std::error_code error = MakeDirectories(options.path);
  if (error) return Status::Error("cannot create the directory " + options.path + ": " + error.message());
  return {};
}

Status CheckFormat(const std::string& path, const std::string& version) {
  const Result<uint64_t> format = ParseUnsigned(version, {.min = 1, .max = 1000000});
  if (!format.ok()) {
    return Status::Error(path + " is damaged: its format is \"" + Printable(version) + "\"; restore it from a backup");
  }
  if (format.value() > kStoreFormat) {
    return Status::Error(path + " was written by a newer weir (format " + std::to_string(format.value()) +
                         "); this one reads " + std::to_string(kStoreFormat) + ": install the newer one");
  }
  return {};
}

Status Foreign(const std::string& path) {
  return Status::Error(path + " holds a RocksDB database that is not weir's; name another directory");
}

// Returns true if the family has no entries. A database has neither a format nor entries if the process that made it
// ended too early.
bool IsEmpty(rocksdb::DB* db, ColumnFamilyHandle* family) {
  const std::unique_ptr<rocksdb::Iterator> entries(db->NewIterator({}, family));
  entries->SeekToFirst();
  return !entries->Valid() && entries->status().ok();
}

bool OnlyOurs(const std::vector<std::string>& families) {
  return std::all_of(families.begin(), families.end(), [](const std::string& name) {
    return name == rocksdb::kDefaultColumnFamilyName || name == kEventsFamily || name == kIndexFamily ||
           name == kSearchFamily;
  });
}

// Checks, before anything is written, that the database at this path is one that this program understands. It reads the
// entries of only the format and the logs. With `all` it also checks that all files are there, with the right sizes.
Status Recognise(const std::string& path, bool all, std::vector<std::string>* families) {
  rocksdb::DBOptions options;
  options.info_log_level = rocksdb::InfoLogLevel::FATAL_LEVEL;
  rocksdb::Status status = rocksdb::DB::ListColumnFamilies(options, path, families);
  if (!status.ok()) return DatabaseError("cannot open " + path, status);
  std::vector<ColumnFamilyDescriptor> descriptors = {{rocksdb::kDefaultColumnFamilyName, {}}};
  for (const std::string& family : *families)
    if (all && family != rocksdb::kDefaultColumnFamilyName) descriptors.push_back({family, {}});
  options.max_open_files = 256;
  options.max_file_opening_threads = kFileOpeningThreads;
  std::vector<ColumnFamilyHandle*> handles;
  OpenedRocksDb opened{};
  status = rocksdb::DB::OpenForReadOnly(options, path, descriptors, &handles, &opened);
  if (!status.ok()) return DatabaseError("cannot open " + path, status);
  const std::unique_ptr<rocksdb::DB> db = OwnerOf(&opened);
  std::string version;
  status = db->Get({}, handles[0], ToSlice(kFormatKey), &version);
  const bool untouched = OnlyOurs(*families) && IsEmpty(db.get(), handles[0]);
  for (ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
  if (status.ok()) return CheckFormat(path, version);
  if (!status.IsNotFound()) return DatabaseError("cannot read " + path, status);
  return untouched ? Status() : Foreign(path);
}

bool HasSearch(const std::vector<std::string>& families) {
  return std::find(families.begin(), families.end(), kSearchFamily) != families.end();
}

bool HasAll(const std::vector<std::string>& families) {
  return families.size() == (HasSearch(families) ? 4 : 3) && OnlyOurs(families);
}

}  // namespace

Status DatabaseError(std::string_view doing, const rocksdb::Status& status) {
  const std::string state = status.getState() == nullptr ? "" : status.getState();
  std::string what = status.ToString();
  if (what.ends_with(state)) what.resize(what.size() - state.size());
  while (what.ends_with(' ') || what.ends_with(':')) what.pop_back();
  std::string message = std::string(doing) + ": " + what;
  if (status.IsNoSpace()) {
    message += "; make room on the disk, the store goes on by itself";
  } else if (status.IsCorruption()) {
    message += "; the database is damaged: run `weir check` to see the damage, or restore a backup";
  }
  if (NeedsRestart(status)) message += "; nothing can be saved until this program is started again";
  if (!state.empty()) message += std::string(kForOperators) + state + ")";
  return Status::Error(std::move(message));
}

bool NeedsRestart(const rocksdb::Status& status) { return status.severity() >= rocksdb::Status::kFatalError; }

// A database can go back to an older RocksDB because store_options.cc fixes everything on which this depends: the
// format and the compression of the tables, and the shape of the levels.
std::string AboutAnotherRocksDb(const std::string& path) {
  std::string name;
  if (!rocksdb::GetLatestOptionsFileName(path, rocksdb::Env::Default(), &name).ok()) return "";
  std::ifstream file(fs::path(path) / name);
  constexpr std::string_view kKey = "rocksdb_version=";
  std::string line;
  size_t key = std::string::npos;
  while (key == std::string::npos && std::getline(file, line)) key = line.find(kKey);
  const std::string now = rocksdb::GetRocksVersionAsString();
  if (key == std::string::npos || line.substr(key + kKey.size()) == now) return "";
  return "RocksDB " + Printable(line.substr(key + kKey.size())) + " had the database in " + path + " before, and " +
         now + " opens it now; it keeps its shape, and what is written stays in a form that RocksDB 7.8 and later read";
}

Status RecogniseDatabase(const std::string& path) {
  std::vector<std::string> families;
  return Recognise(path, true, &families);
}

// If another process writes, it may do a flush after this process has read the manifest and before it reads the logs.
// The flush may remove logs that are still needed according to the manifest that this process has read. The opening
// then fails because files are missing or, worse, succeeds without the events in these logs. If the manifest is the
// same afterwards, no such flush has happened.
Result<std::unique_ptr<Database>> Database::Open(const StoreOptions& options) {
  if (!options.read_only) return OpenOnce(options);
  for (int tries = 1;; ++tries) {
    const std::string before = ManifestState(options.path);
    Result<std::unique_ptr<Database>> opened = OpenOnce(options);
    const bool undisturbed = before == ManifestState(options.path);
    const bool last = before.empty() || tries >= (undisturbed ? 3 : kTriesBesideWriter);
    if (opened.ok() ? undisturbed : last) return opened;
    if (last) return Status::Error("cannot read " + options.path + ": it is being written to too fast; try again");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

Result<std::unique_ptr<Database>> Database::OpenOnce(const StoreOptions& options) {
  if (Status made = MakeDirectory(options); !made.ok()) return made;
  LockFile lock;
  if (!options.read_only) {
    Result<LockFile> taken = LockFile::Take(options.path, options.address);
    if (!taken.ok()) return taken.status();
    lock = std::move(taken).value();
  }
  std::vector<std::string> families;
  const bool exists = HasDatabase(options.path);
  if (exists) {
    if (Status known = Recognise(options.path, false, &families); !known.ok()) return known;
    if (options.read_only && !HasAll(families))
      return Status::Error("the database in " + options.path + " has not been finished; start a relay on it first");
    if (!options.read_only) {
      if (const std::string other = AboutAnotherRocksDb(options.path); !other.empty()) spdlog::info("{}", other);
    }
  }
  return OpenLocked(options, std::move(lock), exists, HasSearch(families));
}

Result<std::unique_ptr<Database>> Database::OpenLocked(const StoreOptions& options, LockFile lock, bool exists,
                                                       bool has_search) {
  std::unique_ptr<Database> database(new Database);
  database->lock_ = std::move(lock);
  rocksdb::DBOptions db_options = DatabaseOptions(options);
  db_options.create_if_missing = true;
  db_options.create_missing_column_families = true;
  if (options.read_only) {
    db_options.max_open_files = -1;  // opens all files at once: the writer may delete them later
  }
  const auto log = std::make_shared<EngineLog>(options.read_only ? "" : options.path);
  db_options.info_log = log;
  const uint64_t log_bytes = LogBytes(options.path);
  std::vector<ColumnFamilyDescriptor> families = Families(options);
  const bool begins_search = options.searched_kinds && !options.searched_kinds->empty();
  if (!has_search && !begins_search) families.pop_back();
  RocksDbPreparation preparation{.brakes = EngineBrakes::kAsSet, .target_setting = "WEIR_RATE_LIMIT_TARGET_MEMORY_MB"};
  if (options.move_brakes) {
    preparation.brakes = EngineBrakes::kMoved;
    preparation.compaction_nice = kCompactionNice;
  }
  Result<PreparedRocksDb> prepared = PrepareRocksDb(options.memory_target_bytes, &db_options, &families, preparation);
  if (!prepared.ok()) return prepared.status();
  database->prepared_ = std::move(prepared).value();
  database->search_options_ = families.back().options;
  if (!has_search && begins_search) families.pop_back();  // OpenSearch makes it
  database->record_cache_ = RecordCache(database->prepared_.block_cache);

  OpenedRocksDb opened{};
  const rocksdb::Status status =
      options.read_only
          ? rocksdb::DB::OpenForReadOnly(db_options, options.path, families, &database->families_, &opened)
          : rocksdb::DB::Open(db_options, options.path, families, &database->families_, &opened);
  if (!status.ok()) return DatabaseError("cannot open " + options.path, status);
  database->db_ = OwnerOf(&opened);
  if (const std::string line = log->cut_replay(); !line.empty()) {
    database->loss_ = "the write-ahead log in " + options.path + " is damaged (" + AsText(line) +
                      "): the part of its " + ReadableBytes(log_bytes) +
                      " after that place could not be read, so acknowledged events may be lost";
    if (!options.read_only) spdlog::error("{}", database->loss_);
  }
  rocksdb::DB* const db = database->db();
  if (options.read_only) return database;
  std::string version;
  if (exists && db->Get({}, database->families_[0], ToSlice(kFormatKey), &version).ok()) return database;
  if (!IsEmpty(db, database->events()) || !IsEmpty(db, database->index())) return Foreign(options.path);
  if (Status written = database->WriteFormat(); !written.ok()) return written;
  return database;
}

// Writes the format to disk before everything else, and into a table, so that RocksDB need not keep a log for it.
Status Database::WriteFormat() {
  rocksdb::WriteOptions sync;
  sync.sync = true;
  rocksdb::Status status = db_->Put(sync, families_[0], ToSlice(kFormatKey), std::to_string(kStoreFormat));
  if (status.ok()) status = db_->Flush({}, families_[0]);
  return status.ok() ? Status() : DatabaseError("cannot write " + db_->GetName(), status);
}

// The state is the last entry that a new index gets, so an index without one was not begun.
Status Database::OpenSearch(const StoreOptions& options, uint64_t last_serial) {
  const bool has_family = families_.size() > 3;
  std::optional<SearchState> state;
  if (has_family) {
    std::string value;
    const rocksdb::Status status = db_->Get({}, families_[3], ToSlice(kSearchStateKey), &value);
    if (!status.ok() && !status.IsNotFound()) return DatabaseError("cannot read the index of words", status);
    if (status.ok()) state = ReadSearchState(value);
  }
  const std::optional<std::vector<uint16_t>>& kinds = options.searched_kinds;
  const bool fits = kinds ? state && state->kinds == *kinds : state || !has_family;
  if (!fits && !options.read_only) {
    if (Status dropped = DropSearch(); !dropped.ok() || !kinds || kinds->empty()) return dropped;
    rocksdb::ColumnFamilyHandle* family = nullptr;
    rocksdb::Status status = db_->CreateColumnFamily(search_options_, std::string(kSearchFamily), &family);
    if (!status.ok()) return DatabaseError("cannot begin an index of words", status);
    families_.push_back(family);
    state = SearchState{.unbuilt = last_serial, .kinds = *kinds};
    rocksdb::WriteOptions sync;
    sync.sync = true;
    status = db_->Put(sync, family, ToSlice(kSearchStateKey), WriteSearchState(*state));
    if (!status.ok()) return DatabaseError("cannot begin an index of words", status);
    spdlog::info("search: a new index of the words in events of the kinds {}; at most {} older events follow",
                 ToText(*kinds), last_serial);
  }
  if (state) search_ = std::make_unique<SearchIndex>(*state);
  return {};
}

Status Database::DropSearch() {
  if (families_.size() <= 3) return {};
  rocksdb::ColumnFamilyHandle* const family = families_.back();
  rocksdb::Status status = db_->DropColumnFamily(family);
  if (!status.ok()) return DatabaseError("cannot remove the index of words", status);
  families_.pop_back();
  status = db_->DestroyColumnFamilyHandle(family);
  if (!status.ok()) return DatabaseError("cannot remove the index of words", status);
  spdlog::info("search: the index of words was removed");
  return {};
}

void Database::NoteDamagedRecord(uint64_t serial) const {
  if (damaged_reads_++ > 0) return;
  spdlog::error(
      "the record of event {} in {} is damaged and is passed over, as are others like it: run `weir check` to "
      "see the damage, or restore a backup",
      serial, db_->GetName());
}

void Database::SetLastSerial(uint64_t serial) {
  const rocksdb::SequenceNumber sequence = db_->GetLatestSequenceNumber();
  const MutexLock lock(mutex_);
  told_at_ = sequence;
  last_serial_ = serial;
}

std::optional<uint64_t> Database::LastSerialAt(rocksdb::SequenceNumber sequence) const {
  const MutexLock lock(mutex_);
  return told_at_ == sequence ? last_serial_ : std::nullopt;
}

Database::~Database() {
  if (!db_) return;
  for (rocksdb::ColumnFamilyHandle* family : families_) db_->DestroyColumnFamilyHandle(family);
  (void)db_->Close();
}

Status ReadMoment(const Database& database, const Snapshot& snapshot, Moment* moment) {
  if (const std::optional<uint64_t> serial = database.LastSerialAt(snapshot.sequence())) {
    moment->Advance({.number = *serial});
    return {};
  }
  rocksdb::PinnableSlice value;
  const rocksdb::Status status =
      database.db()->Get(snapshot.ReadOptions(), database.index(), ToSlice(CountersKey()), &value);
  Counters counters;
  if (status.ok() && ReadCounters(ToView(value), &counters)) moment->Advance({.number = counters.last_serial});
  return status.ok() || status.IsNotFound() ? Status() : DatabaseError("cannot read the index", status);
}

}  // namespace weir
