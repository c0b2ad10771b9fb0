// Recorder: writes the history (history.h) of a run while its clients work. A client calls Sent and Asked before it
// sends, and all other functions after it has received, so the times of a history never claim an order that was not.
//
// Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "config/mutex.h"
#include "tests/histories/history.h"

namespace weir::histories {

class Recorder {
 public:
  Time Now() const;

  // Returns the event's number.
  uint32_t Publish(Published event);
  // Returns the attempt's number.
  size_t Sent(uint32_t event, int relay);
  void Answered(size_t attempt, bool accepted, std::string_view reason);

  // Returns the subscription's number.
  size_t Asked(const Selection& selection, int relay, bool slow, bool final);
  void Came(size_t subscription, std::string_view id);
  void Eose(size_t subscription);
  void Ended(size_t subscription, Subscription::End end);

  // Returns the ban's number. `event` is null for a ban of the author.
  size_t Banned(std::optional<uint32_t> event, int author, int relay);
  void Confirmed(size_t ban);

  // The relay's clock has been moved, after `begin`, to be `ahead` of the right time.
  void ClockMoved(int relay, Time begin, Time ahead);
  void Faulted(int relay, Time begin);  // the fault ends now
  void Gave(Serial serial);

  // Returns the history up to now. The recorder must not be used after that.
  History Take();

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  mutable Mutex mutex_;
  History history_ WEIR_GUARDED_BY(mutex_);
  std::unordered_map<std::string, uint32_t> numbers_ WEIR_GUARDED_BY(mutex_);  // the events' numbers, by id
};

}  // namespace weir::histories
