#include <algorithm>
#include <memory>
#include <utility>

#include "import/local_destination.h"
#include "relay/observe/trace/traces.h"
#include "relay/plugins/policy_plugin.h"
#include "relay/protocol/save_allowed.h"
#include "relay/store/storage/storage.h"

namespace weir {
namespace {

// A byte of the window takes at most 2.5 bytes of memory, so a window of a 64th of the memory target takes a 25th of
// it.
constexpr uint64_t kTargetPerWindow = 64;
constexpr uint64_t kSmallestWindow = 4 << 20;
constexpr uint64_t kLargestWindow = 16 << 20;

struct Opened {
  std::unique_ptr<Traces> traces;
  std::unique_ptr<Storage> storage;
  std::unique_ptr<PolicyPlugin> plugin;  // null if imports ask none

  Status Save(std::span<const Event> events, std::span<SaveResult> results) const {
    const uint64_t now = WallClock::System().NowSeconds();
    const auto save = [&](std::span<const Event> allowed, std::span<SaveResult> saved) {
      return storage->store().Save(allowed, now, saved);
    };
    return plugin ? SaveAllowed(*plugin, now, events, results, save) : save(events, results);
  }
};

}  // namespace

Result<std::unique_ptr<Destination>> OpenDatabaseDestination(const RelayConfiguration& configuration,
                                                             const DestinationOptions& options,
                                                             Destination::OnSettled on_settled) {
  StorageOptions storage{.settings = configuration.storage, .data_dir = configuration.data_dir, .for_import = true};
  storage.max_disk_bytes = configuration.retention.max_disk_bytes();
  if (!configuration.relay.url.empty()) storage.own_urls.push_back(configuration.relay.url);
  Result<std::unique_ptr<Storage>> opened = Storage::Open(storage);
  if (!opened.ok()) return opened.status();
  Result<std::unique_ptr<Traces>> traces = Traces::Open(configuration.trace);
  if (!traces.ok()) return traces.status();
  std::unique_ptr<PolicyPlugin> plugin;
  if (configuration.plugins.imports) {
    Result<std::unique_ptr<PolicyPlugin>> started = PolicyPlugin::StartForWrites(configuration.plugins);
    if (!started.ok()) return started.status();
    plugin = std::move(started).value();
  }
  const auto open =
      std::make_shared<Opened>(Opened{std::move(traces).value(), std::move(opened).value(), std::move(plugin)});
  Storage* const in = open->storage.get();
  LocalParts parts{.owner = open,
                   .name = in->name(),
                   .store = &in->store(),
                   .limiter = &in->limiter(),
                   .save = [raw = open.get()](std::span<const Event> events,
                                              std::span<SaveResult> results) { return raw->Save(events, results); },
                   .interrupt =
                       [raw = open.get()] {
                         if (raw->plugin) raw->plugin->StopSoon();
                       },
                   .flush = [in] { return in->store().Flush(); },
                   .count_own_bytes = [in](int64_t bytes, OwnUse use) { in->AddOwnBytes(bytes, use); },
                   .tracer = Traces::TracerOf(open->traces),
                   .window_bytes = std::clamp<uint64_t>(in->memory_target_bytes() / kTargetPerWindow, kSmallestWindow,
                                                        kLargestWindow)};
  return std::unique_ptr<Destination>(
      std::make_unique<LocalDestination>(std::move(parts), options, std::move(on_settled)));
}

}  // namespace weir
