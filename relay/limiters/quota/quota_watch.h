// WatchQuotas: the verb `weir quota watch`. It shows the usage of all models again and again, until a signal stops it
// or it has done so as often as the user wants. On a terminal it shows a table that is redrawn in place, otherwise a
// line for each model in use, or JSON.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "config/clock.h"
#include "config/status.h"
#include "config/terminal_size.h"
#include "relay/limiters/quota/quota_client.h"

namespace weir {

struct WatchParts {
  enum class Style : uint8_t { kTable, kLines, kJson };

  Style style = Style::kLines;
  std::optional<uint64_t> times;  // how many times at most the usage is shown; nullopt: until `wait` returns false
  std::function<void(std::string_view text)> write;        // prints the text
  std::function<void(std::string_view problem)> complain;  // reports that a question failed; for kLines and kJson
  std::function<TerminalSize()> size;                      // returns the size of the terminal; for kTable
  std::function<bool()> wait;                              // waits for the interval; returns false to end the watch
  const WallClock& clock = WallClock::System();
};

// Asks `client` for the usage and shows it, again and again. Calls all functions of `parts` on the calling thread.
// Returns an error if the first question fails. If a later one fails, shows that, and goes on.
Status WatchQuotas(QuotaClient& client, const WatchParts& parts);

// While an Interrupts object exists, SIGINT and SIGTERM are blocked in the thread that has made it and in the threads
// that this thread starts meanwhile. So the signals do not end the process (if all its threads are among these); they
// only end a call of Wait.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Waits for `time`, then returns true. If one of the signals comes, or has come before, returns false at once.
  bool Wait(Duration time) const;

 private:
  sigset_t set_;
  sigset_t before_;
};

}  // namespace weir
