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
  kNewest,   // the order of a REQ: newest created_at first, and for equal times the lowest id first
};
// Returns the order that is called "arrival", "oldest" or "newest", and an error for any other name.
Result<ExportOrder> ParseExportOrder(std::string_view name);

// The most that an export with kOldest holds in memory; it may hold one event more.
struct ExportWindow {
  uint32_t events = 20'000;
  uint64_t bytes = 16 << 20;  // bytes of JSON
};

struct ExportPlan {
  std::vector<Filter> filters;    // empty: all events
  std::optional<uint64_t> since;  // lowest and highest created_at, in addition to the filters; nullopt: no bound
  std::optional<uint64_t> until;
  ExportOrder order = ExportOrder::kArrival;
  uint64_t now_seconds = 0;  // events that have expired at this time are left out
  ExportWindow window;       // for kOldest
};
// Returns an error if a filter has a limit and the order is not kNewest, or if `since` is after `until`.
Status Check(const ExportPlan& plan);

// Only one thread at a time may use an exporter, and it must not outlive the store. It exports no event twice. Events
// that are saved or deleted during the export may be exported or not. An event that is replaced during the export is
// exported in its old or in its new form. There are two exceptions: the one that Suspend describes, and an export by
// kArrival while new events come at half the speed of reading or faster. The latter ends after its second pass, and
// misses both forms of an event whose replacement came during that pass.
class Exporter {
 public:
  using OnEvent = std::function<void(EventView event)>;  // the view is valid only during the call

  // Makes the exporter of a plan for which Check returns success.
  static std::unique_ptr<Exporter> Make(const EventStore& store, ExportPlan plan);
  virtual ~Exporter() = default;

  // Exports one slice: calls `on_event` in this thread for each of its events, of which there may be none. Returns
  // kDone when the export is complete, kMore if it is not, and an error if the store cannot be read.
  virtual Result<Progress> Next(const Slice& slice, const OnEvent& on_event) = 0;

  // Releases the snapshot of the store, because the caller pauses between slices. From then on an export by kNewest
  // misses both forms of an event that is replaced before the export reaches it.
  virtual void Suspend() = 0;
  // Returns the memory that the exporter holds between slices, in bytes.
  virtual uint64_t held_bytes() const = 0;
};

}  // namespace weir
