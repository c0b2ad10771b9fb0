// WatchQuotas: shows the usage of all models, again and again, until it is told to stop: a table redrawn in its place
// on a terminal, else a line for each model that is in use.
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
  std::optional<uint64_t> times;  // empty: until the wait says stop
  std::function<void(std::string_view text)> write;
  std::function<void(std::string_view problem)> complain;  // kLines and kJson: a question that was not answered
  std::function<TerminalSize()> size;                      // kTable
  std::function<bool()> wait;                              // waits for the next turn; returns false to stop
  const WallClock& clock = WallClock::System();
};

// Returns an error if the first question failed. Later failures are shown, and it goes on.
Status WatchQuotas(QuotaClient& client, const WatchParts& parts);

// Takes SIGINT and SIGTERM while it lives, in this thread and those that it starts. They end a Wait.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Returns false if one of them has come.
  bool Wait(Duration time) const;

 private:
  sigset_t set_;
  sigset_t before_;
};

}  // namespace weir
