#include "relay/store/storage/storage.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <utility>

#include "throttle/rocksdb/rocksdb_throttle.h"

namespace weir {
namespace {

constexpr std::string_view kRocksDb = "rocksdb";

// RocksDbStorage: the storage on RocksDB. The order of its members matters: later members use earlier ones, and are
// destroyed before them.
class RocksDbStorage final : public Storage {
 public:
  static Result<std::unique_ptr<Storage>> Open(const StorageOptions& options, uint64_t target_bytes) {
    const StorageSettings& settings = options.settings;
    StoreOptions store;
    store.path = options.data_dir + "/events";
    store.memory_target_bytes = target_bytes;
    store.max_disk_bytes = options.max_disk_bytes;
    store.settings = settings.rocksdb;
    // An import notes in its checkpoint which events are saved, and --resume skips these events. So they must be on
    // disk before, whatever WEIR_DB_SYNC allows. This costs one sync for each write of some thousand events.
    if (options.for_import) store.settings.sync = SyncMode::kBatch;
    store.for_import = options.for_import;
    store.move_brakes = settings.limiter.ReplacesBrakes();
    store.address = options.address;
    store.own_urls = options.own_urls;
    store.searched_kinds = options.searched_kinds;
    Result<std::unique_ptr<RocksDbStore>> opened = RocksDbStore::Open(store);
    if (!opened.ok()) return opened.status();
    auto storage = std::make_unique<RocksDbStorage>();
    storage->store_ = std::move(opened).value();
    RocksDbStore& db = *storage->store_;
    RocksDbMonitorSettings monitor = settings.monitor;
    monitor.on_event = [](const std::string& event) { spdlog::warn("{}", event); };
    auto throttle = RocksDbThrottle::Attach(
        db.db(), db.prepared(), {.handles = db.families(), .monitor = monitor, .limiter = settings.limiter});
    if (!throttle.ok()) return throttle.status();
    storage->throttle_ = std::move(throttle).value();
    storage->name_ = store.path;
    return std::unique_ptr<Storage>(std::move(storage));
  }

  EventStore& store() override { return *store_; }
  AdaptiveLimiter& limiter() override { return throttle_->limiter(); }
  LoadMonitor& monitor() override { return throttle_->monitor(); }
  void AddOwnBytes(int64_t bytes, OwnUse use) override { throttle_->monitor().AddOwnBytes(bytes, use); }
  uint64_t own_budget_bytes() const override { return throttle_->monitor().own_budget_bytes(); }
  uint64_t memory_target_bytes() const override { return store_->prepared().target_bytes; }
  std::string name() const override { return name_; }
  const RocksDbMonitor* rocksdb_monitor() const override { return &throttle_->monitor(); }

 private:
  std::string name_;
  std::unique_ptr<RocksDbStore> store_;
  std::unique_ptr<RocksDbThrottle> throttle_;
};

class PostgresStorage final : public Storage {
 public:
  static Result<std::unique_ptr<Storage>> Open(const StorageOptions& options, uint64_t target_bytes) {
    const StorageSettings& settings = options.settings;
    PostgresStoreOptions store{.conninfo = settings.store, .settings = settings.postgres, .own_urls = options.own_urls};
    if (store.settings.origin.empty()) store.settings.origin = OriginOf(options);
    if (options.for_import) store.settings.origin += "/import";  // a running relay may use the bare name
    store.is_history = options.for_import;
    if (options.searched_kinds) store.searched_kinds = *options.searched_kinds;
    Result<std::unique_ptr<PostgresStore>> opened = PostgresStore::Open(store);
    if (!opened.ok()) return opened.status();
    return std::unique_ptr<Storage>(new PostgresStorage(std::move(opened).value(), settings, target_bytes));
  }

  EventStore& store() override { return *store_; }
  AdaptiveLimiter& limiter() override { return limiter_; }
  LoadMonitor& monitor() override { return monitor_; }
  void AddOwnBytes(int64_t bytes, OwnUse use) override { monitor_.AddOwnBytes(bytes, use); }
  uint64_t own_budget_bytes() const override { return monitor_.own_budget_bytes(); }
  uint64_t memory_target_bytes() const override { return target_bytes_; }
  std::string name() const override {
    return StoreName(store_->options().conninfo) + " as \"" + store_->origin().name + "\"";
  }
  const PostgresMonitor* postgres_monitor() const override { return &monitor_; }
  PostgresStore* postgres_store() override { return store_.get(); }
  Status Follow(SiblingsListener listener) override {
    Result<std::unique_ptr<Siblings>> found = Siblings::Find(*store_, siblings_settings_, std::move(listener));
    if (!found.ok()) return found.status();
    siblings_ = std::move(found).value();
    return {};
  }
  void Unfollow() override {
    if (siblings_ != nullptr) siblings_->Stop();
  }
  Siblings* siblings() override { return siblings_.get(); }

 private:
  PostgresStorage(std::unique_ptr<PostgresStore> store, const StorageSettings& settings, uint64_t target_bytes)
      : store_(std::move(store)),
        target_bytes_(target_bytes),
        monitor_(store_->conninfo(), target_bytes, MonitorOf(settings)),
        limiter_(monitor_, settings.limiter),
        siblings_settings_(settings.siblings) {
    monitor_.Start();
    limiter_.Start();
  }

  static PostgresMonitorSettings MonitorOf(const StorageSettings& settings) {
    PostgresMonitorSettings monitor = settings.postgres_monitor;
    const auto interval = monitor.monitor.sample_interval;
    monitor.monitor = settings.monitor.monitor;
    monitor.monitor.sample_interval = std::max(interval, settings.monitor.monitor.sample_interval);
    monitor.own_budget_mb = settings.monitor.own_budget_mb;
    return monitor;
  }

  // Returns the same name at every start: the host's name and the port, which distinguishes programs of the host.
  static std::string OriginOf(const StorageOptions& options) {
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
    const size_t port = options.address.rfind(':');
    return std::string(host.data()) + (port == options.address.npos ? "" : options.address.substr(port));
  }

  const std::unique_ptr<PostgresStore> store_;
  const uint64_t target_bytes_;
  PostgresMonitor monitor_;
  AdaptiveLimiter limiter_;
  const SiblingsSettings siblings_settings_;
  std::unique_ptr<Siblings> siblings_;
};

// The memory of a program that reads while a relay runs. The relay has a target of its own.
constexpr uint64_t kReadersMemoryBytes = uint64_t{256} << 20;

PostgresStoreOptions Reader(const StorageSettings& settings) {
  return {.conninfo = settings.store, .settings = settings.postgres, .read_only = true, .create = false};
}

}  // namespace

Result<std::unique_ptr<EventStore>> OpenForReading(const StorageSettings& settings, const std::string& data_dir) {
  if (Status known = CheckStore(settings.store); !known.ok()) return known;
  if (!IsEmbedded(settings)) {
    auto opened = PostgresStore::Open(Reader(settings));
    if (!opened.ok()) return opened.status();
    return std::unique_ptr<EventStore>(std::move(opened).value());
  }
  auto opened = OpenDatabaseForReading(data_dir + "/events");
  if (!opened.ok()) return opened.status();
  return std::unique_ptr<EventStore>(std::move(opened).value());
}

Result<std::unique_ptr<RocksDbStore>> OpenDatabaseForReading(const std::string& path) {
  if (access(path.c_str(), R_OK | X_OK) != 0 && errno == EACCES) {
    return Status::Error("cannot read " + Printable(path) +
                         ": Permission denied; run this as the user of the relay, or as root");
  }
  return RocksDbStore::Open(
      {.path = path, .memory_target_bytes = kReadersMemoryBytes, .read_only = true, .create = false});
}

Result<std::string> IdentityOf(const StorageSettings& settings, const std::string& data_dir) {
  if (IsEmbedded(settings)) {
    // RocksDB writes this name when it creates the database.
    std::string identity;
    std::ifstream in(data_dir + "/events/IDENTITY", std::ios::binary);
    std::getline(in, identity);
    return identity;
  }
  auto opened = PostgresStore::Open(Reader(settings));
  if (!opened.ok()) return opened.status();
  return opened.value()->database();
}

bool IsPostgres(std::string_view store) {
  return store.starts_with("postgres://") || store.starts_with("postgresql://");
}

void Declare(SettingTable& table, StorageSettings& s) {
  table.AddSecret("STORE", &s.store,
                  "where the events are: rocksdb, in the data directory, or postgres://user@host1,host2/database, "
                  "which several relays may share",
                  StoreName);
  Declare(table, s.rocksdb);
  Declare(table, s.postgres);
  Declare(table, s.siblings);
  Declare(table, s.memory);
  Declare(table, s.limiter);
  Declare(table, s.monitor);
  Declare(table, s.postgres_monitor);
}

Status CheckStore(std::string_view store) {
  if (store == kRocksDb || IsPostgres(store)) return {};
  return Status::Error("WEIR_STORE=" + Printable(StoreName(store)) +
                       ": neither rocksdb nor an address that begins with postgres://");
}

Status Check(const StorageSettings& s) {
  if (Status known = CheckStore(s.store); !known.ok()) return known;
  if (Status checked = Check(s.siblings); !checked.ok()) return checked;
  if (IsPostgres(s.store)) {
    Status timeout = CheckTimeout(s.limiter, "WEIR_RATE_LIMIT_POSTGRES_TIMEOUT_MS", s.postgres_monitor.timeout);
    if (!timeout.ok()) return timeout;
  }
  return Check(s.limiter);
}

bool IsEmbedded(const StorageSettings& settings) { return settings.store == kRocksDb; }

std::string StoreName(std::string_view store) {
  const size_t scheme = store.find("://");
  if (scheme == store.npos)
    return store.find('@') == store.npos ? std::string(store) : "***" + std::string(store.substr(store.rfind('@')));
  std::string name(store.substr(0, scheme + 3));
  store.remove_prefix(scheme + 3);
  const size_t at = store.substr(0, store.find_first_of("/?")).rfind('@');
  if (at != store.npos) {
    const size_t colon = store.substr(0, at).find(':');
    name.append(store.substr(0, std::min(colon, at))).append(colon < at ? ":***@" : "@");
    store.remove_prefix(at + 1);
  }
  for (size_t at_password = store.find("password="); at_password != store.npos; at_password = store.find("password=")) {
    name.append(store.substr(0, at_password)).append("password=***");
    store.remove_prefix(std::min(store.find('&', at_password), store.size()));
  }
  return name.append(store);
}

Result<std::unique_ptr<Storage>> Storage::Open(const StorageOptions& options) {
  const Result<uint64_t> target =
      ResolveMemoryTarget(options.settings.memory, MemoryProbe(), options.settings.limiter.emergency);
  if (!target.ok()) return target.status();
  return IsEmbedded(options.settings) ? RocksDbStorage::Open(options, target.value())
                                      : PostgresStorage::Open(options, target.value());
}

}  // namespace weir
