#include "relay/store/search/searched_events.h"

namespace weir {
namespace {

// A word of a text has about this many bytes, with the space behind it.
constexpr uint64_t kWordBytes = 6;

}  // namespace

Work SearchedEvents::SplittingWork(EventView event) const {
  return Searches(event.kind()) ? std::min(event.json().size(), kMostTextBytes) * kSplitByteWork : 0;
}

Work SearchedEvents::SavingWork(EventView event) const {
  if (!Searches(event.kind())) return 0;
  const uint64_t words = std::min(event.json().size() / kWordBytes, kMostWords);
  return words * kEntryWork + SplittingWork(event);
}

}  // namespace weir
