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

// What happens on a connection. `now` is when its bytes were read.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void OnMessage(ClientSocket& connection, std::string_view message, TimePoint now) = 0;
  // After all messages that one read brought.
  virtual void OnMessagesTaken(ClientSocket&, TimePoint) {}
};

class Loop {
 public:
  // What takes longer is an error.
  explicit Loop(Duration patience);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Both must outlive the loop's last Run, or Forget.
  Status Watch(ClientSocket* connection, Listener* listener);
  // Before it is closed while the loop goes on; not by its own listener.
  void Forget(const ClientSocket* connection);
  // Calls once, at the first turn at or after the time; `at` is the time that was asked for.
  void At(TimePoint time, std::function<void(TimePoint at)> call);

  // Until `done`, asked every turn. An error when a connection failed, the patience ended, or somebody interrupts the
  // program; `what` names what was waited for.
  Status Run(const std::function<bool()>& done, const std::string& what);
  // The same, but for at most this long, and not done by then is no error.
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
  // Once a turn, so that what was queued during it goes out together.
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
