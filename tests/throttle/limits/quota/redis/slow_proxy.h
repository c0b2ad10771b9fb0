// SlowProxy: a proxy for a server on 127.0.0.1, which delays all bytes in both directions.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <thread>
#include <utility>

#include "config/clock.h"
#include "tests/fixtures/listening_socket.h"

namespace weir {

class SlowProxy {
 public:
  explicit SlowProxy(uint16_t server);
  ~SlowProxy();
  SlowProxy(const SlowProxy&) = delete;
  SlowProxy& operator=(const SlowProxy&) = delete;

  std::string url() const;
  void Delay(Duration delay) { delay_ = delay; }  // for bytes from now on; the order stays

 private:
  struct Pipe {
    int from = -1;
    int to = -1;
    std::deque<std::pair<TimePoint, std::string>> late = {};  // "" ends the stream
    bool ended = false;
  };
  void Run(const std::stop_token& stop);
  void Accept();
  void Read(Pipe* pipe);
  static void Write(Pipe* pipe);

  const uint16_t server_;
  const ListeningSocket listener_{64};
  std::atomic<Duration> delay_{Duration(0)};
  std::list<Pipe> pipes_;  // two for each connection; only the thread uses them
  std::jthread thread_;
};

}  // namespace weir
