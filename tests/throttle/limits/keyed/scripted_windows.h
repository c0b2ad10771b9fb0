// ScriptedWindows: SharedWindows that answer when the test wants, with the exact counts of a server.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "config/clock.h"
#include "throttle/limits/keyed/shared_windows.h"

namespace weir {

// CountedWindows: the counts of the server, by key.
class CountedWindows {
 public:
  // `now` is the server's time.
  LeaseAnswer Lease(const std::string& key, const LeaseWish& wish, Duration now) {
    const int64_t number = now / wish.window;
    Count& count = counts_[key];
    if (count.window != number) count = {.window = number};
    const uint32_t granted = std::min(wish.grants, wish.limit - std::min(wish.limit, count.used));
    count.used += granted;
    return {.answered = true,
            .window = number,
            .granted = granted,
            .used = count.used,
            .remaining = (number + 1) * wish.window - now};
  }
  // Adds grants of another process.
  void Use(const std::string& key, uint32_t used) { counts_[key].used += used; }

 private:
  struct Count {
    int64_t window = -1;
    uint32_t used = 0;
  };
  std::map<std::string, Count> counts_;
};

class ScriptedWindows final : public SharedWindows {
 public:
  struct Asked {
    std::string key;
    LeaseWish wish;  // its view of the key is empty
    std::function<void(const LeaseAnswer&)> done;
  };

  // `asked` belongs to the test and outlives this object.
  explicit ScriptedWindows(std::deque<Asked>* asked) : asked_(*asked) {}
  ~ScriptedWindows() override {
    while (!asked_.empty()) {
      const Asked first = std::move(asked_.front());
      asked_.pop_front();
      first.done({});
    }
  }

  void Ask(const LeaseWish& wish, std::function<void(const LeaseAnswer&)> done) override {
    asked_.push_back({std::string(wish.key), wish, std::move(done)});
    asked_.back().wish.key = {};
  }
  SharedWindowsHealth Health() const override { return {}; }

 private:
  std::deque<Asked>& asked_;
};

}  // namespace weir
