// Runs a server until SIGINT or SIGTERM, then lets it finish its work and stops it. `weir relay` and `weir gate` share
// this code.
#pragma once

#include <spdlog/spdlog.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "relay/process/stop_signals.h"

namespace weir {

struct Serving {
  std::string url;   // the address, for the log: "ws://127.0.0.1:3334"
  std::string hint;  // appended to the log line that names the address
  // Functions for StopSignals::BeginOrderly (stop_signals.h).
  std::function<void()> at_once;  // for a second SIGINT or SIGTERM, and each later one, during Shutdown
  std::function<void()> hang_up;  // for SIGHUP until Shutdown begins; may be empty
  std::function<void()> tell;     // for SIGUSR1 until Shutdown begins; may be empty
  std::string closing;            // logged for a SIGINT or SIGTERM while the server is being destroyed
};

// The longest time that Shutdown waits for the store to save the events that the relay has received, and for clients to
// receive their last answers. By default, systemd waits nine times as long before it kills a service.
inline constexpr std::chrono::seconds kLongestShutdown{10};

// Tells systemd the state of the service, as sd_notify does: with a datagram to the socket that the environment
// variable NOTIFY_SOCKET names. `state` consists of lines such as "READY=1", "STOPPING=1" and "STATUS=…". Does nothing
// if NOTIFY_SOCKET is not set or names no socket, or if no socket can be made. Logs a warning if the datagram cannot be
// sent.
void NotifyService(std::string_view state);

// Lets the server accept connections and waits for the first SIGINT or SIGTERM. Then shuts the server down, destroys it
// and returns. `Server` is a class that has the functions Accept and Shutdown, like the Server of relay/net/server.h.
template <typename Server>
void ServeUntilTold(std::unique_ptr<Server> server, StopSignals& signals, Serving serving) {
  signals.BeginOrderly(serving.at_once, std::move(serving.hang_up), std::move(serving.tell));
  server->Accept();
  spdlog::info("listening on {}{}", serving.url, serving.hint);
  NotifyService("READY=1\nSTATUS=listening on " + serving.url);

  const char* signal = signals.Wait();
  spdlog::info("{}: stopping, within {} s at most; a second signal stops at once", signal, kLongestShutdown.count());
  NotifyService("STOPPING=1");
  signals.BeginOrderly(std::move(serving.at_once));  // from here on, SIGHUP and SIGUSR1 are only logged
  server->Shutdown(kLongestShutdown);
  signals.BeginOrderly([closing = std::move(serving.closing)] { spdlog::warn("{}", closing); });
  server.reset();
  spdlog::info("stopped");
}

}  // namespace weir
