// One thread, one epoll: connections, timers and a deadline. The generator shares its cores with the server, so there
// is no second thread to take time from it.
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

// Gets the messages of a connection. `now` is when their bytes were read.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void OnMessage(ClientSocket& connection, std::string_view message, TimePoint now) = 0;
  // Called after all messages that one read brought.
  virtual void OnMessagesTaken(ClientSocket&, TimePoint) {}
};

class Loop {
 public:
  // All runs together must end within this time from now on; else Run returns an error.
  explicit Loop(Duration patience);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Both must outlive the loop's last Run, or Forget.
  Status Watch(ClientSocket* connection, Listener* listener);
  // Call it before the connection is closed while the loop goes on, but not from its own listener.
  void Forget(const ClientSocket* connection);
  // Calls once, at the first turn at or after the time; `at` is the time that was asked for.
  void At(TimePoint time, std::function<void(TimePoint at)> call);

  // Runs until `done`, which is asked every turn. Returns an error if a connection failed, the patience ended, or a
  // signal interrupted the program; the error says that it waited for `what`.
  Status Run(const std::function<bool()>& done, const std::string& what);
  // The same, but for at most this long; it is no error if it is not done by then.
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
  // Called once a turn, so that messages queued during it go out together.
  Status FlushAll();
  void CallTimers();
  timespec TimeToNextTimer() const;

  const int epoll_;
  const TimePoint deadline_;
  std::vector<std::unique_ptr<Watched>> watched_;
  std::multimap<TimePoint, std::function<void(TimePoint)>> timers_;
};

// SIGINT and SIGTERM end the loop that runs, so that a server that this program started is stopped as well.
void InterruptLoopsOnSignals();

}  // namespace weir
