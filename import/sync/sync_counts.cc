#include "import/sync/sync_counts.h"

namespace weir {

std::string_view NameOf(SyncDirection direction) {
  switch (direction) {
    case SyncDirection::kUp:
      return "up";
    case SyncDirection::kDown:
      return "down";
    case SyncDirection::kBoth:
      break;
  }
  return "both";
}

std::optional<SyncDirection> SyncDirectionNamed(std::string_view name) {
  for (const SyncDirection direction : {SyncDirection::kBoth, SyncDirection::kUp, SyncDirection::kDown})
    if (NameOf(direction) == name) return direction;
  return std::nullopt;
}

void Add(const SyncCounts& more, SyncCounts* counts) {
  for (uint64_t SyncCounts::*count :
       {&SyncCounts::stored, &SyncCounts::need, &SyncCounts::have, &SyncCounts::rounds, &SyncCounts::pages,
        &SyncCounts::cut_seconds, &SyncCounts::missing, &SyncCounts::unasked, &SyncCounts::gone, &SyncCounts::withheld,
        &SyncCounts::received, &SyncCounts::accepted, &SyncCounts::bytes_sent, &SyncCounts::bytes_received})
    counts->*count += more.*count;
  if (!more.by_pages.empty()) counts->by_pages = more.by_pages;
  counts->refused.Add(more.refused);
}

SyncCounts CarriedOver(const SyncCounts& counts) {
  return {.received = counts.received,
          .accepted = counts.accepted,
          .bytes_sent = counts.bytes_sent,
          .bytes_received = counts.bytes_received};
}

}  // namespace weir
