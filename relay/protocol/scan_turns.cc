#include "relay/protocol/scan_turns.h"

#include <algorithm>
#include <utility>

namespace weir {

std::unique_ptr<ScanTurns::Place> ScanTurns::TryEnter(uint64_t group) {
  const MutexLock lock(mutex_);
  Line& line = lines_[group];
  if (line.running == kMostAtOnce) return nullptr;
  std::unique_ptr<Place> place(new Place(*this, group, nullptr));
  ++line.running;
  return place;
}

std::unique_ptr<ScanTurns::Place> ScanTurns::Enter(uint64_t group, std::function<void()> on_turn) {
  std::unique_ptr<Place> place(new Place(*this, group, std::move(on_turn)));
  const MutexLock lock(mutex_);
  Line& line = lines_[group];
  if (line.running < kMostAtOnce) {
    ++line.running;
    std::exchange(place->on_turn_, nullptr)();
  } else {
    line.waiting.push_back(place.get());
  }
  return place;
}

void ScanTurns::Leave(Place& place) {
  const MutexLock lock(mutex_);
  const auto found = lines_.find(place.group_);
  Line& line = found->second;
  if (place.on_turn_) {
    std::erase(line.waiting, &place);
  } else if (!line.waiting.empty()) {
    Place& next = *line.waiting.front();
    line.waiting.pop_front();
    std::exchange(next.on_turn_, nullptr)();
  } else {
    --line.running;
  }
  if (line.running == 0 && line.waiting.empty()) lines_.erase(found);
}

size_t ScanTurns::waiting() const {
  const MutexLock lock(mutex_);
  size_t waiting = 0;
  for (const auto& [group, line] : lines_) waiting += line.waiting.size();
  return waiting;
}

}  // namespace weir
