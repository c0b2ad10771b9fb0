// What `weir relay` and `weir gate` do alike: flags in place of settings, and serving until SIGINT or SIGTERM.
#pragma once

#include <spdlog/spdlog.h>

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "config/settings.h"
#include "config/status.h"
#include "relay/service_notify.h"
#include "relay/stop_signals.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;
}

namespace weir {

// Flags that override settings of the environment.
class SettingFlags {
 public:
  // Must live until the app has parsed.
  void Add(CLI::App& app, std::string flag, std::string setting, const std::string& meaning);
  Status Set(SettingTable& table) const;

 private:
  struct Flag {
    std::string flag;
    std::string setting;
    std::optional<std::string> text;
  };
  std::list<Flag> flags_;  // the app knows where the texts are
};

struct Serving {
  std::string url;   // "ws://127.0.0.1:3334"
  std::string hint;  // ends the line of the log that begins with the address
  // See StopSignals.
  std::function<void()> at_once;
  std::function<void()> hang_up;
  std::string closing;  // what the log says to a signal while the server is being closed
};

// What clients have to take their last answers, and the slowest store to write down what it was told; systemd's default
// patience is nine times as long.
inline constexpr std::chrono::seconds kLongestShutdown{10};

// Returns when the server has stopped in order and is closed.
template <typename Server>
void ServeUntilTold(std::unique_ptr<Server> server, StopSignals& signals, Serving serving) {
  signals.BeginOrderly(std::move(serving.at_once), std::move(serving.hang_up));
  server->Accept();
  spdlog::info("listening on {}{}", serving.url, serving.hint);
  NotifyService("READY=1\nSTATUS=listening on " + serving.url);

  const char* signal = signals.Wait();
  spdlog::info("{}: stopping, for at most {} s; once more stops at once", signal, kLongestShutdown.count());
  NotifyService("STOPPING=1");
  server->Shutdown(kLongestShutdown);
  signals.BeginOrderly([closing = std::move(serving.closing)] { spdlog::warn("{}", closing); });
  server.reset();
  spdlog::info("stopped");
}

}  // namespace weir
