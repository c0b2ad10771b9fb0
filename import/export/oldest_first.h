// The export that begins with the oldest. The store's queries begin with the newest, so this walks through a span of
// time: a span that fits into the window is turned round and handed out; one that does not is split into spans that do,
// and the oldest of them comes next. The first span is all time, so an export that fits at once costs one walk, and any
// other hardly more than two.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "import/export/exporter.h"

namespace weir {

// A query limit that means "no limit".
inline constexpr uint64_t kAll = std::numeric_limits<int64_t>::max();

class OldestFirst final : public Exporter {
 public:
  // Takes at least one filter, none with a limit.
  OldestFirst(const EventStore& store, std::vector<Filter> filters, uint64_t now_seconds, const ExportWindow& window);

  Result<Progress> Next(const Slice& slice, const OnEvent& on_event) override;
  void Suspend() override;
  uint64_t held_bytes() const override;

 private:
  // The time from `since` to `until`, both inclusive; or these ids, all of one second that alone is too much.
  struct Span {
    uint64_t since = 0;
    uint64_t until = UINT64_MAX;
    std::vector<EventId> ids;  // ascending
  };
  struct Load {
    uint64_t events = 0;
    uint64_t bytes = 0;
    void Add(uint64_t size) {
      ++events;
      bytes += size;
    }
  };
  struct Sized {
    EventId id;
    uint64_t bytes;
  };

  void Begin(Span span);
  void Take(EventView event);
  void Settle();
  void SplitByTime();
  void SplitById();
  void HandOut(const Slice& slice, const OnEvent& on_event);
  bool Fits(const Load& load) const { return load.events <= window_.events && load.bytes <= window_.bytes; }

  const EventStore& store_;
  const std::vector<Filter> filters_;
  const uint64_t now_seconds_;
  const ExportWindow window_;
  std::vector<Span> ahead_;  // the oldest last; no two have a second in common, or an id

  // The walk through a span, newest first.
  std::unique_ptr<Query> query_;
  Span span_;
  bool fits_ = true;               // so far
  bool was_suspended_ = false;     // events replaced since may be in it in neither form
  std::vector<std::string> held_;  // the records, while they fit
  std::vector<uint64_t> bounds_;   // splits: the newest second of each part but the first
  std::vector<Sized> ids_;         // while there is no bound
  Load part_;                      // the load since the last bound
  Load second_;                    // the part of it that is of the current second
  uint64_t created_at_ = 0;        // the current second

  bool handing_out_ = false;  // from the back of held_
};

}  // namespace weir
