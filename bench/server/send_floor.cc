// Measures one send to each of many sockets, with nothing else around it: no live delivery can cost less.
//
//   send_floor [connections = 100 [messages a second = 100 [seconds = 5 [bytes = 800]]]]
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "bench/measure/arguments.h"

namespace {

int Listen(sockaddr_in* address) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(*address);
  if (bind(listener, reinterpret_cast<sockaddr*>(address), size) != 0 || listen(listener, 1024) != 0) std::abort();
  getsockname(listener, reinterpret_cast<sockaddr*>(address), &size);
  return listener;
}

// Reads all bytes that come, until the other side has gone.
void Receive(const sockaddr_in& address, int connections) {
  const int poll = epoll_create1(0);
  for (int i = 0; i < connections; ++i) {
    const int peer = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(peer, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) std::abort();
    epoll_event event{.events = EPOLLIN, .data = {.fd = peer}};
    epoll_ctl(poll, EPOLL_CTL_ADD, peer, &event);
  }
  std::vector<char> buffer(65536);
  std::vector<epoll_event> ready(64);
  while (true) {
    const int n = epoll_wait(poll, ready.data(), static_cast<int>(ready.size()), -1);
    for (int i = 0; i < n; ++i)
      if (read(ready[i].data.fd, buffer.data(), buffer.size()) <= 0) return;
  }
}

double ProcessorSeconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  const weir::Arguments arguments(
      argc, argv, "send_floor [connections = 100 [messages a second = 100 [seconds = 5 [bytes = 800]]]]", 4);
  const auto number = [&](size_t place, size_t otherwise) {
    return static_cast<int>(arguments.Count(place, otherwise));
  };
  const int connections = number(0, 100), rate = number(1, 100), seconds = number(2, 5);
  const std::string message(arguments.Count(3, 800), 'x');
  sockaddr_in address{};
  const int listener = Listen(&address);
  const pid_t receiver = fork();
  if (receiver == 0) {
    Receive(address, connections);
    _exit(0);
  }
  std::vector<int> sockets;
  for (int i = 0; i < connections; ++i) {
    sockets.push_back(accept(listener, nullptr, nullptr));
    const int one = 1;
    setsockopt(sockets.back(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  }
  const double before = ProcessorSeconds();
  auto due = std::chrono::steady_clock::now();
  for (int round = 0; round < rate * seconds; ++round) {
    for (const int s : sockets)
      if (send(s, message.data(), message.size(), MSG_NOSIGNAL) < 0) return 1;
    due += std::chrono::microseconds(1'000'000 / rate);
    std::this_thread::sleep_until(due);
  }
  const double sends = static_cast<double>(rate) * seconds * connections;
  std::printf("%.2f us of CPU for a send\n", 1e6 * (ProcessorSeconds() - before) / sends);
  for (const int s : sockets) close(s);
  waitpid(receiver, nullptr, 0);
  return 0;
}
