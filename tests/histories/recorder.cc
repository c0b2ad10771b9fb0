#include "tests/histories/recorder.h"

#include <algorithm>
#include <utility>

namespace weir::histories {

Time Recorder::Now() const { return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now() - begin_); }

uint32_t Recorder::Publish(Published event) {
  const MutexLock lock(mutex_);
  const auto number = static_cast<uint32_t>(history_.events.size());
  numbers_.emplace(event.id, number);
  history_.events.push_back(std::move(event));
  return number;
}

size_t Recorder::Sent(uint32_t event, int relay) {
  const MutexLock lock(mutex_);
  history_.attempts.push_back({.event = event, .relay = relay, .sent = Now(), .reason = {}});
  return history_.attempts.size() - 1;
}

void Recorder::Answered(size_t attempt, bool accepted, std::string_view reason) {
  const MutexLock lock(mutex_);
  Attempt& answered = history_.attempts[attempt];
  answered.answered = Now();
  answered.accepted = accepted;
  answered.in_doubt = !accepted && reason.starts_with("error:");
  answered.reason = reason;
}

size_t Recorder::Asked(const Selection& selection, int relay, bool slow, bool final) {
  const MutexLock lock(mutex_);
  history_.subscriptions.push_back(
      {.selection = selection, .relay = relay, .sent = Now(), .received = {}, .slow = slow, .final = final});
  return history_.subscriptions.size() - 1;
}

void Recorder::Came(size_t subscription, std::string_view id) {
  const MutexLock lock(mutex_);
  const auto known = numbers_.find(std::string(id));
  if (known == numbers_.end()) {
    history_.strangers.emplace_back(id);
    return;
  }
  Subscription& s = history_.subscriptions[subscription];
  s.received.push_back({.event = known->second, .at = Now()});
  if (s.eose == kNever) s.stored = s.received.size();
}

void Recorder::Eose(size_t subscription) {
  const MutexLock lock(mutex_);
  history_.subscriptions[subscription].eose = Now();
}

void Recorder::Ended(size_t subscription, Subscription::End end) {
  const MutexLock lock(mutex_);
  history_.subscriptions[subscription].ended = Now();
  history_.subscriptions[subscription].end = end;
}

size_t Recorder::Banned(std::optional<uint32_t> event, int author, int relay) {
  const MutexLock lock(mutex_);
  history_.bans.push_back({.event = event, .author = author, .relay = relay, .sent = Now()});
  return history_.bans.size() - 1;
}

void Recorder::Confirmed(size_t ban) {
  const MutexLock lock(mutex_);
  history_.bans[ban].confirmed = Now();
}

void Recorder::ClockMoved(int relay, Time begin, Time ahead) {
  const MutexLock lock(mutex_);
  for (MovedClock& clock : history_.clocks)
    if (clock.relay == relay) clock.end = std::min(clock.end, Now());
  history_.clocks.push_back({.relay = relay, .ahead = ahead, .begin = begin});
}

void Recorder::Faulted(int relay, Time begin) {
  const MutexLock lock(mutex_);
  history_.faults.push_back({.relay = relay, .begin = begin, .end = Now()});
}

void Recorder::Gave(Serial serial) {
  const MutexLock lock(mutex_);
  history_.serials.push_back(std::move(serial));
}

History Recorder::Take() {
  const MutexLock lock(mutex_);
  history_.end = Now();
  return std::move(history_);
}

}  // namespace weir::histories
