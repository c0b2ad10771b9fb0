// WatchQuotas: the verb `weir quota watch`. Until a signal stops it, it shows the usage of all models again and again:
// on a terminal as a table that is redrawn in place, otherwise as a line for each model in use.
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
  std::optional<uint64_t> times;  // how often the usage is shown; nullopt: until `wait` returns false
  std::function<void(std::string_view text)> write;        // prints the text
  std::function<void(std::string_view problem)> complain;  // reports a question that failed; for kLines and kJson
  std::function<TerminalSize()> size;                      // returns the size of the terminal; for kTable
  std::function<bool()> wait;                              // waits until the next time; returns false to stop
  const WallClock& clock = WallClock::System();
};

// Asks for the usage and shows it, again and again. All functions of `parts` are called on this thread. Returns an
// error if the first question fails; a later failure is shown, and the watch goes on.
Status WatchQuotas(QuotaClient& client, const WatchParts& parts);

// While an Interrupts object exists, SIGINT and SIGTERM are blocked in the thread that has made it and in the threads
// that this thread starts. Instead, these signals end a Wait.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Waits for `time`. Returns false, at once, if one of the signals has come.
  bool Wait(Duration time) const;

 private:
  sigset_t set_;
  sigset_t before_;
};

}  // namespace weir
