#include "bench/relay/readers.h"

#include <algorithm>

#include "bench/relay/shapes.h"

namespace weir {

Status Readers::Start(const std::vector<Endpoint>& endpoints, const EventSet& stored, Duration interval, uint64_t seed,
                      Loop* loop) {
  constexpr size_t kVariants = 250;  // filters of each shape, before they come again
  const size_t readers = endpoints.size();
  for (size_t i = 0; i < readers; ++i) {
    readers_.push_back(std::make_unique<Reader>(InteractiveFilters(stored, kVariants, seed + i)));
    if (Status s = readers_.back()->Connect(endpoints[i], loop); !s.ok()) return s;
  }
  for (size_t i = 0; i < readers; ++i)
    readers_[i]->Start(interval, interval * static_cast<int64_t>(i) / static_cast<int64_t>(readers), std::nullopt);
  return Status();
}

void Readers::Stop() {
  for (const auto& reader : readers_) reader->Stop();
}

bool Readers::idle() const {
  return std::all_of(readers_.begin(), readers_.end(), [](const auto& reader) { return reader->idle(); });
}

void Readers::MergeInto(LatencyHistogram* latency) const {
  for (const auto& reader : readers_) latency->Merge(reader->latency());
}

void Readers::MoveLatencyTo(LatencyHistogram* latency) {
  for (const auto& reader : readers_) reader->MoveLatencyTo(latency);
}

size_t Readers::closed() const {
  size_t closed = 0;
  for (const auto& reader : readers_) closed += reader->closed();
  return closed;
}

}  // namespace weir
