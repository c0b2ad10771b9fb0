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
  kArrival,  // as they came; the cheapest, but looks at every event, whatever the filters
  kOldest,   // the reverse of newest: by created_at, of equal age the highest id first; walks through them twice
  kNewest,   // as a REQ has it: by created_at, newest first, of equal age the lowest id first
};
// "arrival", "oldest", "newest".
Result<ExportOrder> ParseExportOrder(std::string_view name);

// What is held in memory at a time where the order asks for it, and one event more.
struct ExportWindow {
  uint32_t events = 20'000;
  uint64_t bytes = 16 << 20;  // of JSON
};

struct ExportPlan {
  std::vector<Filter> filters;    // none: all
  std::optional<uint64_t> since;  // beside what the filters say
  std::optional<uint64_t> until;
  ExportOrder order = ExportOrder::kArrival;
  uint64_t now_seconds = 0;  // what expired before is left out
  ExportWindow window;       // of kOldest
};
// What cannot be: a filter with a limit in any order but newest, and a time that ends before it begins.
Status Check(const ExportPlan& plan);

// One thread at a time; must not outlive the store. No event comes twice. Those that are saved or deleted meanwhile may
// be in it or not; one that is replaced meanwhile is there as it was or as it became, save where events come half as
// fast as they are read, or faster: an export by arrival then ends after its second walk, and an event whose
// replacement came during that one is in it in neither form.
class Exporter {
 public:
  using OnEvent = std::function<void(EventView event)>;  // the view is good during the call

  // Of a plan that Check finds right.
  static std::unique_ptr<Exporter> Make(const EventStore& store, ExportPlan plan);
  virtual ~Exporter() = default;

  // Goes on for one slice; not every slice has events.
  virtual Result<Progress> Next(const Slice& slice, const OnEvent& on_event) = 0;

  // Between slices, for as long as nobody takes what it gives: holds no snapshot any more. From then on an export by
  // newest has neither form of an event that it had not come to and that is replaced.
  virtual void Suspend() = 0;
  // What it holds between slices.
  virtual uint64_t held_bytes() const = 0;
};

}  // namespace weir
