// Exporter: reads the stored events that match some filters, in bounded memory. It works in slices, so that the caller
// can pause between them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "relay/nostr/filter.h"
#include "relay/store/event_store.h"

namespace weir {

enum class ExportOrder : uint8_t {
  // The order in which the store received the events. On PostgreSQL the events of one origin (a process that saves
  // events, relay/store/serial.h) come first, in this order, then those of the next. This order costs least for each
  // event, but reads every stored event.
  kArrival,
  kOldest,  // the reverse of kNewest; reads most events twice, unless all fit into the ExportWindow
  kNewest,  // the order of the answer to a REQ: newest created_at first, and for equal times the lowest id first
};
// Returns the order that is called "arrival", "oldest" or "newest", and an error for any other name.
Result<ExportOrder> ParseExportOrder(std::string_view name);

// The most events, and the most bytes of events, that an export by kOldest holds in memory. It holds a larger event
// alone. For each further window of events that it has yet to export it also holds about a hundred bytes.
struct ExportWindow {
  uint32_t events = 20'000;
  uint64_t bytes = 16 << 20;  // bytes of JSON
};

struct ExportPlan {
  std::vector<Filter> filters;    // empty: all events
  std::optional<uint64_t> since;  // lowest created_at, inclusive, in addition to the filters; nullopt: no bound
  std::optional<uint64_t> until;  // highest created_at, inclusive, in addition to the filters; nullopt: no bound
  ExportOrder order = ExportOrder::kArrival;
  Moment after;              // the events in it are left out; only for kArrival
  uint64_t now_seconds = 0;  // events that have expired at this time are left out
  ExportWindow window;       // for kOldest
};
// Returns an error if a filter has a limit and the order is not kNewest, if `since` is after `until`, or if `after` is
// not empty and the order is not kArrival.
Status Check(const ExportPlan& plan);
// Returns an error if `after` is not covered by what the store has: it is of another store, or of this one before it
// was restored from a backup. May wait for a database server.
Status CheckAfter(const EventStore& store, const Moment& after);

// Only one thread at a time may use an exporter. The store must outlive the exporter. An exporter exports no event
// twice. It may or may not export events that are saved or deleted during the export. If an event is replaced during
// the export, an export by kNewest has its old or its new version; an export by kArrival or kOldest has one of them or
// both. In these cases an export may have neither:
//  * by kNewest or kOldest on PostgreSQL, where an export has no snapshot of the store;
//  * by kNewest after Suspend;
//  * by kArrival, if the event is replaced during the last pass. A first pass reads all events, and each further pass
//    reads the events that were saved during the pass before it. The last pass is one during which no event is saved
//    (then the export misses none), or the first that reads more than half as many events as the pass before it.
class Exporter {
 public:
  using OnEvent = std::function<void(EventView event)>;  // the view is valid only during the call

  // Makes the exporter of a plan for which Check returns success.
  static std::unique_ptr<Exporter> Make(const EventStore& store, ExportPlan plan);
  virtual ~Exporter() = default;

  // Exports one slice: calls `on_event` in the calling thread for each event of the slice, which may have no events.
  // Returns kDone when the export is complete, kMore if it is not, and an error if the store cannot be read.
  virtual Result<Progress> Next(const Slice& slice, const OnEvent& on_event) = 0;

  // Releases the snapshot of the store, if the export has one. Call it before a pause between two slices. From then on
  // an export by kNewest misses both versions of an event that is replaced before the export reaches it.
  virtual void Suspend() = 0;
  // For an export by kArrival, returns the moment up to which it has exported all events: a later export with this
  // moment as ExportPlan::after exports those that were saved since. For other exports, returns the empty moment.
  virtual Moment reached() const { return {}; }
  // Returns the memory that the exporter holds between slices, in bytes.
  virtual uint64_t held_bytes() const = 0;
};

}  // namespace weir
