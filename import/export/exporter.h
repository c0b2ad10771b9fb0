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
  kArrival,  // the order in which the store received the events: the cheapest, but it reads every stored event
  kOldest,   // the reverse of kNewest; it reads most events twice
  kNewest,   // the order of the answer to a REQ: newest created_at first, and for equal times the lowest id first
};
// Returns the order that is called "arrival", "oldest" or "newest", and an error for any other name.
Result<ExportOrder> ParseExportOrder(std::string_view name);

// The most events and bytes that an export with kOldest holds in memory; it may hold one event more.
struct ExportWindow {
  uint32_t events = 20'000;
  uint64_t bytes = 16 << 20;  // bytes of JSON
};

struct ExportPlan {
  std::vector<Filter> filters;    // empty: all events
  std::optional<uint64_t> since;  // lowest created_at, inclusive, in addition to the filters; nullopt: no bound
  std::optional<uint64_t> until;  // highest created_at, inclusive, in addition to the filters; nullopt: no bound
  ExportOrder order = ExportOrder::kArrival;
  uint64_t now_seconds = 0;  // events that have expired at this time are left out
  ExportWindow window;       // for kOldest
};
// Returns an error if a filter has a limit and the order is not kNewest, or if `since` is after `until`.
Status Check(const ExportPlan& plan);

// Only one thread at a time may use an exporter. The store must outlive the exporter. An exporter exports no event
// twice. It may or may not export events that are saved or deleted during the export. It exports an event that is
// replaced during the export in its old or in its new form, with two exceptions. Suspend describes the first. The
// second is an export by kArrival while the store saves events at more than half the speed at which the export reads
// them: the export then ends after its second pass, and may miss both forms of an event that is replaced during that
// pass.
class Exporter {
 public:
  using OnEvent = std::function<void(EventView event)>;  // the view is valid only during the call

  // Makes the exporter of a plan for which Check returns success.
  static std::unique_ptr<Exporter> Make(const EventStore& store, ExportPlan plan);
  virtual ~Exporter() = default;

  // Exports one slice: calls `on_event` in the calling thread for each event of the slice, which may have no events.
  // Returns kDone when the export is complete, kMore if it is not, and an error if the store cannot be read.
  virtual Result<Progress> Next(const Slice& slice, const OnEvent& on_event) = 0;

  // Releases the snapshot of the store. Call it before a pause between two slices. From then on an export by kNewest
  // misses both forms of an event that is replaced before the export reaches it.
  virtual void Suspend() = 0;
  // Returns the memory that the exporter holds between slices, in bytes.
  virtual uint64_t held_bytes() const = 0;
};

}  // namespace weir
