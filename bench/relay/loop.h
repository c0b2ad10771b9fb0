// Loop: an event loop with one thread and one epoll, for connections, timers and a deadline. The load generator has
// only this thread, because it shares its cores with the server and should take little processor time from it.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/relay/client_socket.h"
#include "config/clock.h"
#include "config/status.h"

namespace weir {

// Listener: gets the messages of a connection. `now` is the time at which the loop read their bytes.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void OnMessage(ClientSocket& connection, std::string_view message, TimePoint now) = 0;
  // Called once after the calls of OnMessage for all messages of one read.
  virtual void OnMessagesTaken(ClientSocket&, TimePoint) {}
};

class Loop {
 public:
  // All calls of Run together must end within `patience` from now on; otherwise Run returns an error.
  explicit Loop(Duration patience);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Adds a connection. It and its listener must outlive the last Run, or stay until Forget.
  Status Watch(ClientSocket* connection, Listener* listener);
  // Removes a connection. Call it before the connection is destroyed, if the loop runs again after that. A listener
  // must not call it for its own connection.
  void Forget(const ClientSocket* connection);
  // Calls `call` once, soon after `time`. Its argument `at` is `time`, even if the call comes later.
  void At(TimePoint time, std::function<void(TimePoint at)> call);

  // Runs until `done` returns true; calls `done` in each turn of the loop. Returns an error if a connection failed, the
  // patience ended, or a signal interrupted the program. If the patience ended, the error says that the loop waited for
  // `what`.
  Status Run(const std::function<bool()>& done, const std::string& what);
  // Runs in the same way, but for at most `duration`. Returns success even if `done` has not returned true by then.
  Status RunFor(
      Duration duration, const std::function<bool()>& done = [] { return false; });

  static TimePoint Now() { return Clock::System().Now(); }

 private:
  struct Watched {
    ClientSocket* connection;
    Listener* listener;
    bool writing = false;
  };

  Status Turn();
  Status Serve(Watched& watched, uint32_t events);
  // Flushes all connections. Turn calls it after the timers and at its end, so that messages that were queued together
  // go out together.
  Status FlushAll();
  void CallTimers();
  timespec TimeToNextTimer() const;

  const int epoll_;
  const TimePoint deadline_;
  std::vector<std::unique_ptr<Watched>> watched_;
  std::multimap<TimePoint, std::function<void(TimePoint)>> timers_;
};

// Makes SIGINT and SIGTERM end the running loop with an error, so that the program stops the server that it started.
void InterruptLoopsOnSignals();

}  // namespace weir
