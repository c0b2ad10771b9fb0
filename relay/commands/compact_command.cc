#include "relay/commands/compact_command.h"

#include <simdjson.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "config/command_line.h"
#include "config/text/readable.h"
#include "monitors/memory_probe.h"
#include "relay/commands/progress_line.h"
#include "relay/running/running_relay.h"
#include "relay/store/rocksdb_store.h"
#include "relay/upkeep/upkeep.h"

namespace weir {
namespace {

std::atomic<bool> interrupted{false};  // by SIGINT or SIGTERM

struct Sizes {
  uint64_t then = 0;
  uint64_t now = 0;
};

constexpr const char* kInterrupted = "interrupted; what is compacted so far stays so";

void Show(double done, bool waits) {
  ShowProgress("compacted " + Percent(done) + (waits ? ", and waits for clients' work" : ""));
}

Result<Sizes> CompactHere(const RelayConfiguration& configuration) {
  const StorageSettings& settings = configuration.storage;
  const Result<uint64_t> target = ResolveMemoryTarget(settings.memory, MemoryProbe(), settings.limiter.emergency);
  if (!target.ok()) return target.status();
  StoreOptions options;
  options.path = configuration.data_dir + "/events";
  options.memory_target_bytes = target.value();
  options.settings = settings.rocksdb;
  options.create = false;
  options.move_brakes = false;
  const Result<std::unique_ptr<RocksDbStore>> store = RocksDbStore::Open(options);
  if (!store.ok()) return store.status();
  Sizes sizes{.then = store.value()->Sizes().disk_bytes};
  const Status status = CompactAll(*store.value(), CompactWhat::kAll, &interrupted, [](double done) {
    Show(done, false);
    return Status();
  });
  if (!status.ok()) return interrupted ? Status::Error(kInterrupted) : status;
  sizes.now = store.value()->Sizes().disk_bytes;
  return sizes;
}

Result<Compaction> ReadCompaction(const std::string& json) {
  simdjson::dom::parser parser;
  const auto read = parser.parse(json);
  Compaction state;
  std::string_view error;
  if (read["runs"].get(state.runs) != simdjson::SUCCESS || read["waits"].get(state.waits) != simdjson::SUCCESS ||
      read["done"].get(state.done) != simdjson::SUCCESS ||
      read["bytes_then"].get(state.bytes_then) != simdjson::SUCCESS ||
      read["bytes_now"].get(state.bytes_now) != simdjson::SUCCESS || read["error"].get(error) != simdjson::SUCCESS)
    return Status::Error("the relay's answer is not one of `weir compact`");
  state.error = error;
  return state;
}

Result<Sizes> CompactInRelay(const RelayConfiguration& configuration, const AttachOptions& attach) {
  const Result<RunningRelay> relay = RunningRelay::Find(configuration, attach);
  if (!relay.ok()) return relay.status();
  if (const auto begun = relay.value().Call("compact", {}); !begun.ok()) return begun.status();
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    if (interrupted) {
      const auto stopped = relay.value().Call("stopcompaction", {});
      return Status::Error(stopped.ok() ? kInterrupted : stopped.status().message());
    }
    const auto answer = relay.value().Call("listcompaction", {});
    if (!answer.ok()) return answer.status();
    const Result<Compaction> state = ReadCompaction(answer.value().result);
    if (!state.ok()) return state.status();
    if (!state.value().error.empty()) return Status::Error(AsText(state.value().error));
    if (!state.value().runs) return Sizes{.then = state.value().bytes_then, .now = state.value().bytes_now};
    Show(state.value().done, state.value().waits);
  }
}

}  // namespace

int CompactCommand(int argc, char** argv) {
  CommandLine line(
      argv[0],
      "Rewrites the database without what was removed or replaced, which RocksDB otherwise does bit by\n"
      "bit as it writes. In a running relay this is bulk work that waits for clients. Ctrl-C ends it; what\n"
      "is compacted by then stays so. It needs 300 MB of free disk.");
  AttachOptions attach;
  AddTo(line, attach);
  line.SetFooter(
      "Examples:\n"
      "  weir compact\n"
      "  weir compact --data-dir /var/lib/weir\n"
      "\n"
      "Exit status: 0 compacted, 1 not or not wholly, 2 wrong flags or settings.");
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  RelayConfiguration configuration;
  if (const Status loaded = LoadSettings(line, &attach, &configuration); !loaded.ok()) return line.Fail(loaded);
  if (!IsEmbedded(configuration.storage))
    return line.Fail(Status::Error("the events are in " + StoreName(configuration.storage.store) +
                                   ", which compacts its tables itself: VACUUM"));
  interrupted = false;
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = true; });
  const Result<Sizes> sizes =
      NoRelayRuns(configuration, attach) ? CompactHere(configuration) : CompactInRelay(configuration, attach);
  ShowProgress("");
  if (!sizes.ok()) return line.Fail(sizes.status(), 1);
  std::printf("the database had %s and has %s now\n", ReadableBytes(sizes.value().then).c_str(),
              ReadableBytes(sizes.value().now).c_str());
  return 0;
}

}  // namespace weir
