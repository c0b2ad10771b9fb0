#include "import/sync/event_sink.h"

#include <algorithm>
#include <string>
#include <utility>

namespace weir {

Result<std::unique_ptr<EventSink>> EventSink::Open(const RelaySettings& settings, const std::stop_token& stop,
                                                   const OpenDestination& open) {
  DestinationOptions options;
  options.judge.limits = EventLimitsOf(settings);
  options.judge.max_future_s = settings.created_at_future_s;
  std::unique_ptr<EventSink> sink(new EventSink(MaxLineBytes(options.judge.limits)));
  Result<std::unique_ptr<Destination>> destination =
      open(options, [self = sink.get()](const SettledChunk& settled) { self->OnSettled(settled); });
  if (!destination.ok()) return destination.status();
  sink->destination_ = std::move(destination).value();
  sink->stopper_.emplace(stop, Stopper{sink->destination_.get()});
  return sink;
}

Status EventSink::Take(std::string_view json) {
  std::string line(json);
  std::ranges::replace(line, '\n', ' ');  // white space between tokens; a string has none
  line += '\n';
  splitter_.Add(line, 0, [this](Chunk chunk) { Push(std::move(chunk)); });
  return failed_ ? destination_->Finish() : Status();
}

Status EventSink::Flush() {
  if (splitter_.has_whole_line()) splitter_.Flush([this](Chunk chunk) { Push(std::move(chunk)); });
  return failed_ ? destination_->Finish() : Status();
}

Status EventSink::Finish() {
  splitter_.End([this](Chunk chunk) { Push(std::move(chunk)); });
  return destination_->Finish();
}

EventSink::Outcome EventSink::Close() {
  stopper_.reset();
  destination_.reset();  // calls OnSettled no more
  return outcome();
}

EventSink::Outcome EventSink::outcome() const {
  const MutexLock lock(mutex_);
  return outcome_;
}

void EventSink::OnSettled(const SettledChunk& settled) {
  const MutexLock lock(mutex_);
  outcome_.saved += settled.tally;
  for (const Reject& reject : settled.rejects) outcome_.rejected.Add(reject.reason);
}

}  // namespace weir
