// Exporter: stored events as lines of JSON, slice by slice, in bounded memory.
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
  kArrival,  // in the order in which they came: the cheapest, but looks at every event, whatever the filters
  kOldest,   // the reverse of newest: by created_at, at equal age the highest id first; walks through them twice
  kNewest,   // the order of a REQ: by created_at, newest first, at equal age the lowest id first
};
// Reads "arrival", "oldest" or "newest".
Result<ExportOrder> ParseExportOrder(std::string_view name);

// The most that is held in memory at a time if the order asks for it; it may be one event more.
struct ExportWindow {
  uint32_t events = 20'000;
  uint64_t bytes = 16 << 20;  // bytes of JSON
};

struct ExportPlan {
  std::vector<Filter> filters;    // empty: all events
  std::optional<uint64_t> since;  // in addition to the filters
  std::optional<uint64_t> until;
  ExportOrder order = ExportOrder::kArrival;
  uint64_t now_seconds = 0;  // events that expired before are left out
  ExportWindow window;       // for kOldest
};
// Returns an error for a filter with a limit in any order but newest, and for a time that ends before it begins.
Status Check(const ExportPlan& plan);

// For one thread at a time; must not outlive the store. No event comes twice. Events that are saved or deleted
// meanwhile may be in it or not. An event that is replaced meanwhile is there as it was or as it became, unless events
// come at half the speed at which they are read, or faster: then an export by arrival ends after its second walk, and
// has neither form of an event whose replacement came during that walk.
class Exporter {
 public:
  using OnEvent = std::function<void(EventView event)>;  // the view is valid during the call

  // `plan` has to pass Check.
  static std::unique_ptr<Exporter> Make(const EventStore& store, ExportPlan plan);
  virtual ~Exporter() = default;

  // Goes on for one slice; not every slice has events.
  virtual Result<Progress> Next(const Slice& slice, const OnEvent& on_event) = 0;

  // Releases the snapshot when the caller pauses between slices. From then on an export by newest has neither form of
  // an event that it had not come to and that is replaced.
  virtual void Suspend() = 0;
  // Returns the bytes that it holds between slices.
  virtual uint64_t held_bytes() const = 0;
};

}  // namespace weir
