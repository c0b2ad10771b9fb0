// OldestFirst: the Exporter that exports the oldest event first. The store's queries return the newest event first. So
// OldestFirst reads all events of a span of this order. If the events fit into the window (ExportWindow), it exports
// them in reverse order. If not, it splits the span into spans that fit, and continues with the oldest of these. The
// first span has all events, so a small export reads each event once, and a larger one reads each event hardly more
// than twice.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "import/export/exporter.h"

namespace weir {

class OldestFirst final : public Exporter {
 public:
  // REQUIRES: there is at least one filter, and no filter has a limit. The store must outlive this object.
  OldestFirst(const EventStore& store, std::vector<Filter> filters, uint64_t now_seconds, const ExportWindow& window);

  Result<Progress> Next(const Slice& slice, const OnEvent& on_event) override;
  void Suspend() override;
  uint64_t held_bytes() const override;

 private:
  struct Span {
    std::optional<EventPlace> after;  // the span begins behind this place; nullopt: with the newest event
    std::optional<EventPlace> last;   // the span ends with this place; nullopt: with the oldest event
  };
  struct Load {
    uint64_t events = 0;
    uint64_t bytes = 0;
    void Add(uint64_t size) {
      ++events;
      bytes += size;
    }
  };
  void Begin(const Span& span);
  void Take(EventView event);
  void Settle();
  void Split();
  void HandOut(const Slice& slice, const OnEvent& on_event);
  bool Fits(const Load& load) const { return load.events <= window_.events && load.bytes <= window_.bytes; }

  const EventStore& store_;
  const std::vector<Filter> filters_;
  const uint64_t now_seconds_;
  const ExportWindow window_;
  std::vector<Span> ahead_;  // spans that are still to be read, the oldest last; they do not overlap

  // The reading of a span, newest event first.
  std::unique_ptr<Query> query_;
  Span span_;
  bool was_suspended_ = false;      // true after Suspend: since then query_ may miss both versions of an event
  bool is_past_ = false;            // true once the query has returned an event behind the span
  std::vector<std::string> held_;   // records of the events that were read, while they fit into the window
  std::vector<EventPlace> bounds_;  // the last place of each part into which to split the span, except the last part
  Load part_;                       // load since the last bound
  EventPlace read_;                 // place of the event that was read last

  bool handing_out_ = false;  // true while events are exported from the back of held_
};

}  // namespace weir
