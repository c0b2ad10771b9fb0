#include "import/export/exporter.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "import/export/oldest_first.h"
#include "relay/nostr/expiration.h"
#include "relay/store/matching_work.h"
#include "relay/store/moment_text.h"

namespace weir {
namespace {

class ByArrival final : public Exporter {
 public:
  ByArrival(const EventStore& store, std::vector<Filter> filters, uint64_t now_seconds, Moment after)
      : store_(store), filters_(std::move(filters)), now_seconds_(now_seconds), walked_(std::move(after)) {
    for (const Filter& filter : filters_) tag_work_ += TagWorkOf(filter);
  }

  Result<Progress> Next(const Slice& slice, const OnEvent& on_event) override;
  void Suspend() override {}
  Moment reached() const override { return walked_; }
  uint64_t held_bytes() const override { return sizeof(*this); }

 private:
  bool IsWanted(EventView event) const;
  Result<bool> AtEnd();

  const EventStore& store_;
  const std::vector<Filter> filters_;
  const uint64_t now_seconds_;
  Work tag_work_ = 0;  // the work of matching one tag
  Moment walked_;      // the end of the walk so far

  // After each pass over the store, another pass reads the events that were saved during it, because they may have
  // replaced events that it had not reached. The export ends when no event was saved during a pass. It also ends after
  // a pass that reads more than half as many events as the pass before it, because the store may save events faster
  // than the exporter reads them.
  std::optional<Moment> until_;
  uint64_t length_ = 0;
  uint64_t most_length_ = UINT64_MAX;
};

bool ByArrival::IsWanted(EventView event) const {
  return !IsExpired(event, now_seconds_) &&
         std::any_of(filters_.begin(), filters_.end(), [event](const Filter& filter) { return filter.Matches(event); });
}

Result<bool> ByArrival::AtEnd() {
  if (until_ && !walked_.Covers(*until_)) return false;
  if (until_ && length_ > most_length_) return true;
  if (until_) most_length_ = length_ / 2;
  length_ = 0;
  Result<Moment> now = store_.Now();
  if (!now.ok()) return now.status();
  until_ = std::move(now).value();
  return walked_.Covers(*until_);
}

Result<Progress> ByArrival::Next(const Slice& slice, const OnEvent& on_event) {
  const Result<bool> at_end = AtEnd();
  if (!at_end.ok()) return at_end.status();
  if (at_end.value()) return Progress::kDone;
  Work work = kSeekWork;
  uint64_t bytes = 0;
  bool sliced = false;
  const Status status = store_.ScanAll(walked_, *until_, [&](Serial serial, EventView event) {
    walked_.Advance(serial);
    ++length_;
    if (IsWanted(event)) {
      bytes += event.json().size();
      on_event(event);
    }
    work += kRecordWork + event.json().size() + MatchingWork(TagsOf(event), tag_work_);
    sliced = work >= slice.max_work || bytes >= slice.max_bytes;
    return !sliced;
  });
  if (!status.ok()) return status;
  if (!sliced) walked_ = *until_;
  const Result<bool> done = AtEnd();
  if (!done.ok()) return done.status();
  return done.value() ? Progress::kDone : Progress::kMore;
}

class NewestFirst final : public Exporter {
 public:
  NewestFirst(const EventStore& store, std::vector<Filter> filters, uint64_t now_seconds)
      : query_(store.Find(std::move(filters), {.now_seconds = now_seconds,
                                               .default_limit = kAllEvents,
                                               .max_limit = kAllEvents,
                                               .fills_cache = false,
                                               .after = std::nullopt,
                                               .visible = nullptr})) {}

  Result<Progress> Next(const Slice& slice, const OnEvent& on_event) override { return query_->Next(slice, on_event); }
  void Suspend() override { query_->Suspend(); }
  uint64_t held_bytes() const override { return query_->held_bytes(); }

 private:
  const std::unique_ptr<Query> query_;
};

std::vector<Filter> FiltersOf(const ExportPlan& plan) {
  std::vector<Filter> filters = plan.filters;
  if (filters.empty()) filters.emplace_back();
  for (Filter& filter : filters) {
    filter.since = std::max(filter.since, plan.since.value_or(0));
    filter.until = std::min(filter.until, plan.until.value_or(UINT64_MAX));
  }
  return filters;
}

}  // namespace

Result<ExportOrder> ParseExportOrder(std::string_view name) {
  if (name == "arrival") return ExportOrder::kArrival;
  if (name == "oldest") return ExportOrder::kOldest;
  if (name == "newest") return ExportOrder::kNewest;
  return Status::Error("no order \"" + std::string(name) + "\"; there are arrival, oldest and newest");
}

Status CheckAfter(const EventStore& store, const Moment& after) {
  if (after.last().empty()) return {};
  const Result<Moment> now = store.Now();
  if (!now.ok()) return now.status();
  if (now.value().Covers(after)) return {};
  return Status::Error(ToText(after) + " is beyond the last event of this store, " + ToText(now.value()) +
                       ": it is of another one, or of this one before it was restored; export all");
}

Status Check(const ExportPlan& plan) {
  if (plan.since && plan.until && *plan.since > *plan.until)
    return Status::Error("since is after until: nothing can match");
  const bool limited =
      std::any_of(plan.filters.begin(), plan.filters.end(), [](const Filter& f) { return f.limit.has_value(); });
  if (limited && plan.order != ExportOrder::kNewest)
    return Status::Error("a filter has a limit, which counts from the newest: it needs the order newest");
  if (!plan.after.last().empty() && plan.order != ExportOrder::kArrival)
    return Status::Error("a serial says how far an export by arrival came: it needs the order arrival");
  return {};
}

std::unique_ptr<Exporter> Exporter::Make(const EventStore& store, ExportPlan plan) {
  std::vector<Filter> filters = FiltersOf(plan);
  switch (plan.order) {
    case ExportOrder::kArrival:
      return std::make_unique<ByArrival>(store, std::move(filters), plan.now_seconds, plan.after);
    case ExportOrder::kOldest:
      return std::make_unique<OldestFirst>(store, std::move(filters), plan.now_seconds, plan.window);
    case ExportOrder::kNewest:
      return std::make_unique<NewestFirst>(store, std::move(filters), plan.now_seconds);
  }
  return nullptr;
}

}  // namespace weir
