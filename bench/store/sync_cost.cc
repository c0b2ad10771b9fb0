// Measures what a NEG-OPEN costs (NIP-77; relay/protocol/sync_dialogue.h): gathering and sealing the set of all events
// of a store, and the messages by which a client that lacks some events learns of them.
//
//   sync_cost [events = 1000000 [missing = 1000 [directory = sync_cost.data [which = spread]]]]
//
// The events are invented notes, two in a second. The missing ones are spread evenly, or they are the newest, as after
// the client was away. The directory is made anew.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/arguments.h"
#include "bench/measure/own_memory.h"
#include "relay/nostr/event_parser.h"
#include "relay/nostr/signature.h"
#include "relay/protocol/sync_dialogue.h"
#include "relay/store/rocksdb_store.h"

namespace weir {
namespace {

constexpr uint64_t kFirstTime = 1'700'000'000;
// In hexadecimal, a frame of this size is as long as the default WEIR_MAX_MESSAGE_BYTES.
constexpr size_t kFrameBytes = 128 << 10;

[[noreturn]] void Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class Notes {
 public:
  Event Next() {
    const std::string author = "\"" + ToHex(Sha256("author" + std::to_string(made_ % 1000))) + "\"";
    const std::string middle = std::to_string(kFirstTime + made_ / 2) + ",1,[],\"" + std::to_string(made_) +
                               std::string(100 + made_ % 300, 'x') + "\"";
    const std::string id = ToHex(Sha256("[0," + author + "," + middle + "]"));
    const std::string time = std::to_string(kFirstTime + made_ / 2);
    const std::string content = middle.substr(time.size() + 6);
    ++made_;
    Result<Event> event =
        parser_.Parse(R"({"id":")" + id + R"(","pubkey":)" + author + R"(,"created_at":)" + time +
                      R"(,"kind":1,"tags":[],"content":)" + content + R"(,"sig":")" + id + id + "\"}");
    if (!event.ok()) Fail(event.status());
    return std::move(event).value();
  }

 private:
  EventParser parser_;
  uint64_t made_ = 0;
};

// Saves the events. Returns the set of a client that lacks `missing` of them.
SyncSet Fill(RocksDbStore& store, size_t events, size_t missing, bool newest) {
  const auto lacks = [&](size_t n) {
    return newest ? n + missing >= events : n % std::max<size_t>(1, events / missing) == 0;
  };
  Notes notes;
  std::vector<SyncItem> items;
  std::vector<Event> batch;
  for (size_t n = 0; n < events; ++n) {
    batch.push_back(notes.Next());
    const EventView event = batch.back().view();
    if (!lacks(n)) items.push_back({event.created_at(), event.id()});
    if (batch.size() < 500 && n + 1 < events) continue;
    std::vector<SaveResult> results(batch.size());
    if (const Status saved = store.Save(batch, 0, results); !saved.ok()) Fail(saved);
    batch.clear();
  }
  if (const Status flushed = store.Flush(); !flushed.ok()) Fail(flushed);
  SyncSet set;
  for (const SyncItem& item : items) set.Add(item);
  set.Seal();
  return set;
}

// Lets the dialogue work until its next answer, as a Request does. Returns the message of negentropy in the answer.
std::string NextAnswer(const EventStore& store, SyncDialogue& dialogue, Query* query, double* longest_ms) {
  while (true) {
    const double before = ProcessorSeconds();
    const Result<Progress> progress = dialogue.Next(store, query, kTurnWork);
    *longest_ms = std::max(*longest_ms, 1e3 * (ProcessorSeconds() - before));
    if (!progress.ok()) Fail(progress.status());
    if (progress.value() == Progress::kDone) break;
  }
  if (!dialogue.refusal().empty()) Fail(Status::Error(dialogue.refusal()));
  const std::string text = dialogue.TakeAnswer();
  const std::string head = R"(["NEG-MSG","n",")";
  std::string message((text.size() - head.size() - 2) / 2, '\0');
  FromHex(std::string_view(text).substr(head.size(), 2 * message.size()), reinterpret_cast<uint8_t*>(message.data()),
          message.size());
  return message;
}

void Run(size_t events, size_t missing, const std::string& directory, bool newest) {
  std::filesystem::remove_all(directory);
  Result<std::unique_ptr<RocksDbStore>> opened =
      RocksDbStore::Open({.path = directory, .settings = {.sync = SyncMode::kOff}});
  if (!opened.ok()) Fail(opened.status());
  const std::unique_ptr<RocksDbStore> store = std::move(opened).value();
  const SyncSet client = Fill(*store, events, missing, newest);
  SyncDialogue dialogue("n", Reconciler::FirstMessage(client, kFrameBytes), false, events, kFrameBytes);
  const double resident_kb = ResidentKb();
  double longest_ms = 0;
  double since = ProcessorSeconds();
  std::unique_ptr<Query> query = store->Find(
      {Filter()}, {.default_limit = kAllEvents, .max_limit = kAllEvents, .fills_cache = false, .ids_only = IdsOnly()});
  std::string answer = NextAnswer(*store, dialogue, query.get(), &longest_ms);
  query.reset();
  std::printf(
      "%zu events: set and first answer %.2f s of processor time, longest slice %.2f ms, %.1f MB held by the set, "
      "%.1f MB more resident\n",
      events, ProcessorSeconds() - since, longest_ms, 1e-6 * static_cast<double>(dialogue.held_bytes()),
      1e-3 * (ResidentKb() - resident_kb));
  SyncDifferences found;
  size_t rounds = 1;
  size_t bytes = answer.size();
  double relay_s = 0;
  longest_ms = 0;
  while (true) {
    Reconciler side(client, answer, kFrameBytes, &found);
    if (const Result<bool> done = side.Next(UINT64_MAX / 2); !done.ok()) Fail(done.status());
    const std::string message = side.Take();
    if (message.empty()) break;
    dialogue.Hear(message);
    since = ProcessorSeconds();
    answer = NextAnswer(*store, dialogue, nullptr, &longest_ms);
    relay_s += ProcessorSeconds() - since;
    bytes += message.size() + answer.size();
    ++rounds;
  }
  std::printf(
      "%zu missing events found in %zu rounds and %.0f kB of messages; %.1f ms of the relay's processor time for "
      "the messages after the first, longest slice %.2f ms\n",
      found.need.size(), rounds, 1e-3 * static_cast<double>(bytes), 1e3 * relay_s, longest_ms);
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  const weir::Arguments arguments(
      argc, argv, "sync_cost [events = 1000000 [missing = 1000 [directory = sync_cost.data [spread|newest]]]]", 4);
  weir::Run(arguments.Count(0, 1'000'000), arguments.Count(1, 1000), arguments.Text(2, "sync_cost.data"),
            arguments.Text(3, "spread") == "newest");
}
