#include "import/sync/sync_run.h"

#include <algorithm>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "import/found_destination.h"
#include "import/sync/event_sink.h"
#include "import/sync/sync_session.h"
#include "relay/store/storage/storage.h"

namespace weir {
namespace {

// Returns true if the relay gives nothing to clients that do not authenticate, as this one.
bool WantsAuth(const Status& status) { return status.message().find("auth-required:") != std::string::npos; }

}  // namespace

SyncResult SyncRun::Run() {
  for (const Filter& filter : parts_.filters) {
    result_.status = RunFilter(filter);
    if (!result_.status.ok()) break;
  }
  return std::move(result_);
}

Status SyncRun::RunFilter(const Filter& filter) {
  for (int failures = 0;;) {
    const uint64_t before = carried();
    SyncCounts counts;
    bool own_fault = false;
    Status status = Attempt(filter, &counts, &own_fault);
    const bool is_lasting = own_fault || !was_connected_ || WantsAuth(status);
    const bool again = !status.ok() && !is_lasting && !parts_.stop.stop_requested();
    failures = carried() + counts.accepted > before ? 1 : failures + 1;
    const bool goes_on = again && failures < kMostFailures;
    // The next attempt finds what is left, so this comparison does not count.
    Add(goes_on ? CarriedOver(counts) : counts, &result_.counts);
    if (parts_.stop.stop_requested()) return Status::Error("stopped");
    if (!goes_on) return status;
    parts_.on_note(status.message() + "; connecting again");
    if (!Pause(failures)) return Status::Error("stopped");
  }
}

// Waits before a further attempt, longer each time and not as long as other clients of the relay. Returns false if a
// stop was requested.
bool SyncRun::Pause(int failures) const {
  std::mt19937 random{std::random_device{}()};
  const auto longest = kFirstPause * (1 << failures);
  const auto pause = std::uniform_int_distribution<int64_t>((longest / 2).count(), longest.count())(random);
  const TimePoint end = Clock::System().Now() + Duration(pause);
  while (Clock::System().Now() < end && !parts_.stop.stop_requested())
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return !parts_.stop.stop_requested();
}

Status SyncRun::Attempt(const Filter& filter, SyncCounts* counts, bool* own_fault) {
  *own_fault = true;
  std::unique_ptr<EventSink> sink;
  std::vector<std::string> notes;
  if (GoesDown(parts_.direction) && !parts_.dry_run) {
    Result<std::unique_ptr<EventSink>> opened =
        EventSink::Open(parts_.configuration.relay, parts_.stop,
                        [&](const DestinationOptions& options, const Destination::OnSettled& on_settled) {
                          return OpenFoundDestination(parts_.configuration, options, on_settled, &notes);
                        });
    if (!opened.ok()) return opened.status();
    sink = std::move(opened).value();
  }
  const auto store = OpenForReading(parts_.configuration.storage, parts_.configuration.data_dir);
  if (!store.ok()) return store.status();
  *own_fault = false;
  Result<std::unique_ptr<RemoteRelay>> relay = RemoteRelay::Connect(parts_.url, parts_.ca_file, parts_.stop);
  if (!relay.ok()) return relay.status();
  was_connected_ = true;
  for (const std::string& note : notes) parts_.on_note(note);
  SyncSession session({.relay = *relay.value(),
                       .store = *store.value(),
                       .filter = filter,
                       .direction = parts_.direction,
                       .dry_run = parts_.dry_run,
                       .limits = EventLimitsOf(parts_.configuration.relay),
                       .take = [&sink](std::string_view json) { return sink->Take(json); },
                       .on_progress =
                           [this](const SyncCounts& now) {
                             SyncCounts all = result_.counts;
                             Add(now, &all);
                             parts_.on_progress(all);
                           }});
  Status status = session.Run();
  if (!status.ok()) status = Status::Error(parts_.url + ": " + status.message());
  *counts = session.counts();
  if (!sink) return status;
  const Status saved = sink->Finish();
  const EventSink::Outcome outcome = sink->Close();
  result_.saved += outcome.saved;
  result_.rejected.Add(outcome.rejected);
  *own_fault = !saved.ok();
  return saved.ok() ? status : saved;
}

}  // namespace weir
