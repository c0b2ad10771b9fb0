#include <algorithm>
#include <memory>
#include <utility>

#include "import/local_destination.h"
#include "throttle/rocksdb/rocksdb_throttle.h"

namespace weir {
namespace {

// At most 2.5 bytes of memory for each of the window: with the smallest they stay below the level at which the throttle
// would hold back for them (an eighth of the target is level 1.0) down to a target of 128 MiB.
constexpr uint64_t kTargetPerWindow = 64;
constexpr uint64_t kSmallestWindow = 4 << 20;
constexpr uint64_t kLargestWindow = 16 << 20;

// What stands below is used by what stands above it, and goes after it.
struct OpenDatabase {
  std::unique_ptr<RocksDbStore> store;
  std::unique_ptr<RocksDbThrottle> throttle;
};

Result<std::unique_ptr<RocksDbStore>> OpenStore(const RelayConfiguration& configuration) {
  const Result<uint64_t> target = ResolveMemoryTarget(configuration.memory, MemoryProbe());
  if (!target.ok()) return target.status();
  StoreOptions options;
  options.path = configuration.data_dir + "/events";
  options.memory_target_bytes = target.value();
  options.settings = configuration.store;
  // What is settled goes into the checkpoint, and --resume begins behind it: it has to be on disk before, whatever
  // WEIR_DB_SYNC allows a relay. One sync for each write of some thousand events.
  options.settings.sync = SyncMode::kBatch;
  options.for_import = true;
  options.move_brakes = configuration.limiter.ReplacesBrakes();
  if (!configuration.relay.url.empty()) options.own_urls.push_back(configuration.relay.url);
  return RocksDbStore::Open(options);
}

Result<std::shared_ptr<OpenDatabase>> OpenAll(const RelayConfiguration& configuration) {
  Result<std::unique_ptr<RocksDbStore>> store = OpenStore(configuration);
  if (!store.ok()) return store.status();
  auto open = std::make_shared<OpenDatabase>();
  open->store = std::move(store).value();
  RocksDbStore& db = *open->store;
  auto throttle = RocksDbThrottle::Attach(
      db.db(), db.prepared(),
      {.handles = db.families(), .monitor = configuration.monitor, .limiter = configuration.limiter});
  if (!throttle.ok()) return throttle.status();
  open->throttle = std::move(throttle).value();
  return open;
}

}  // namespace

Result<std::unique_ptr<Destination>> OpenDatabaseDestination(const RelayConfiguration& configuration,
                                                             const DestinationOptions& options,
                                                             Destination::OnSettled on_settled) {
  Result<std::shared_ptr<OpenDatabase>> opened = OpenAll(configuration);
  if (!opened.ok()) return opened.status();
  OpenDatabase* open = opened.value().get();
  const uint64_t target = open->store->prepared().target_bytes;
  LocalParts parts{.owner = opened.value(),
                   .name = configuration.data_dir + "/events",
                   .store = open->store.get(),
                   .limiter = &open->throttle->limiter(),
                   .save =
                       [open](std::span<const Event> events, std::span<SaveResult> results) {
                         return open->store->Save(events, WallClock::System().NowSeconds(), results);
                       },
                   .flush = [open] { return open->store->Flush(); },
                   .count_own_bytes = [open](int64_t bytes) { open->throttle->monitor().AddOwnBytes(bytes); },
                   .window_bytes = std::clamp<uint64_t>(target / kTargetPerWindow, kSmallestWindow, kLargestWindow)};
  return std::unique_ptr<Destination>(
      std::make_unique<LocalDestination>(std::move(parts), options, std::move(on_settled)));
}

}  // namespace weir
