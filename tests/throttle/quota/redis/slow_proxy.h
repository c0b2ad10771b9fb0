// A proxy before a server of 127.0.0.1 that passes everything on later, in each direction.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <thread>
#include <utility>

#include "config/clock.h"

namespace weir {

class SlowProxy {
 public:
  explicit SlowProxy(uint16_t server);
  ~SlowProxy();
  SlowProxy(const SlowProxy&) = delete;
  SlowProxy& operator=(const SlowProxy&) = delete;

  std::string url() const;
  void Delay(Duration delay) { delay_ = delay; }  // what comes from now on; never before what came earlier

 private:
  struct Pipe {
    int from = -1;
    int to = -1;
    std::deque<std::pair<TimePoint, std::string>> late = {};  // "": its end
    bool ended = false;
  };
  void Run(const std::stop_token& stop);
  void Accept();
  void Read(Pipe* pipe);
  static void Write(Pipe* pipe);

  const uint16_t server_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<Duration> delay_{Duration(0)};
  std::list<Pipe> pipes_;  // two for each connection; the thread's
  std::jthread thread_;
};

}  // namespace weir
