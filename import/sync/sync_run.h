// SyncRun: one `weir sync`. It makes the own events and those of another relay equal, filter by filter
// (sync_session.h). Events of the other relay go through the destination of an import (import/found_destination.h): the
// relay that runs on the data directory saves them as bulk work, and the database itself does if none runs. Every
// signature is verified.
//
// If the connection breaks, the run connects again, and compares what is left. It gives up after kMostFailures times in
// a row without an event that was saved or accepted. Nothing is kept for a further run: the two sets say how far the
// sync was. A relay that cannot be reached at the beginning, and an error on this side, end the run at once.
//
// Threads: one thread calls Run. The functions of SyncRunParts run on it.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "config/clock.h"
#include "config/status.h"
#include "import/sync/sync_counts.h"
#include "import/tally.h"
#include "relay/nostr/filter.h"
#include "relay/operator/relay_configuration.h"

namespace weir {

struct SyncRunParts {
  const RelayConfiguration& configuration;
  std::string url;                           // the other relay's: ws:// or wss://
  std::string ca_file;                       // certificates to trust; empty: those of the system
  std::vector<Filter> filters = {Filter{}};  // without limits and searches
  SyncDirection direction = SyncDirection::kBoth;
  bool dry_run = false;  // only compares
  std::stop_token stop;
  std::function<void(const std::string& note)> on_note;       // a sentence for the operator
  std::function<void(const SyncCounts& counts)> on_progress;  // called a few times a second
};

struct SyncResult {
  Status status;  // "stopped" after a requested stop
  SyncCounts counts;
  Tally saved;            // the outcomes of the received events
  ReasonCounts rejected;  // received events that are not valid here, by the reason
};

class SyncRun {
 public:
  static constexpr int kMostFailures = 5;
  static constexpr Duration kFirstPause = std::chrono::seconds(1);

  explicit SyncRun(SyncRunParts parts) : parts_(std::move(parts)) {}

  SyncResult Run();

 private:
  Status RunFilter(const Filter& filter);
  // Compares and carries over on one connection. Adds to result_. Sets `own_fault` if the error is one of this side.
  Status Attempt(const Filter& filter, SyncCounts* counts, bool* own_fault);
  bool Pause(int failures) const;
  uint64_t carried() const { return result_.saved[LineOutcome::kImported] + result_.counts.accepted; }

  const SyncRunParts parts_;
  bool was_connected_ = false;
  SyncResult result_;
};

std::string ToText(const SyncResult& result, SyncDirection direction, bool dry_run);
// Returns an object on one line, with a newline.
std::string ToJsonLine(const SyncResult& result);

}  // namespace weir
