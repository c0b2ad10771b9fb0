// Serves until SIGINT or SIGTERM: the part that `weir relay` and `weir gate` share.
#pragma once

#include <spdlog/spdlog.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "relay/process/service_notify.h"
#include "relay/process/stop_signals.h"

namespace weir {

struct Serving {
  std::string url;   // "ws://127.0.0.1:3334"
  std::string hint;  // appended to the log line that names the address
  // Given to StopSignals::BeginOrderly.
  std::function<void()> at_once;
  std::function<void()> hang_up;
  std::function<void()> tell;
  std::string closing;  // logged for a signal that comes while the server is being closed
};

// The time that clients have to take their last answers, and the slowest store to write what it was given. systemd's
// default patience is nine times as long.
inline constexpr std::chrono::seconds kLongestShutdown{10};

// Serves until a signal comes. Returns when the server has stopped in order and is closed.
template <typename Server>
void ServeUntilTold(std::unique_ptr<Server> server, StopSignals& signals, Serving serving) {
  signals.BeginOrderly(serving.at_once, std::move(serving.hang_up), std::move(serving.tell));
  server->Accept();
  spdlog::info("listening on {}{}", serving.url, serving.hint);
  NotifyService("READY=1\nSTATUS=listening on " + serving.url);

  const char* signal = signals.Wait();
  spdlog::info("{}: stopping, for at most {} s; once more stops at once", signal, kLongestShutdown.count());
  NotifyService("STOPPING=1");
  signals.BeginOrderly(std::move(serving.at_once));  // from here on SIGHUP and SIGUSR1 are only logged
  server->Shutdown(kLongestShutdown);
  signals.BeginOrderly([closing = std::move(serving.closing)] { spdlog::warn("{}", closing); });
  server.reset();
  spdlog::info("stopped");
}

}  // namespace weir
