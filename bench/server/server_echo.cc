// Measures the server's cost of a message and of an idle connection: echoes 590-byte messages, with 16 in flight on
// each of some connections; then has 2,000 connections that send nothing. The client is a process of its own, so that
// the CPU time of this process is the server's.
//
//   server_echo [connections [seconds [message bytes [in flight [deflate]]]]]
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
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
#include "bench/measure/own_memory.h"
#include "relay/net/server.h"

namespace weir {
namespace {

using std::chrono::steady_clock;

class Echo final : public ConnectionHandler {
 public:
  explicit Echo(Connection& connection) : connection_(connection) {}
  void OnText(std::string_view text) override { connection_.Send(std::string(text)); }
  void OnReadEnd() override {}
  void OnShutdown(std::function<void()> done) override { done(); }
  void OnEnd(std::string_view) override {}

 private:
  Connection& connection_;
};

std::string MaskedFrame(size_t bytes) {
  std::string frame = "\x81";
  if (bytes < 126) {
    frame += static_cast<char>(0x80 | bytes);
  } else if (bytes < 65536) {
    frame += static_cast<char>(0x80 | 126);
    frame += static_cast<char>(bytes >> 8);
    frame += static_cast<char>(bytes & 255);
  } else {
    frame += static_cast<char>(0x80 | 127);
    for (int shift = 56; shift >= 0; shift -= 8) frame += static_cast<char>(bytes >> shift & 255);
  }
  frame.append("\x11\x22\x33\x44", 4);
  for (size_t n = 0; n < bytes; ++n) frame += static_cast<char>('a' ^ "\x11\x22\x33\x44"[n % 4]);
  return frame;
}

int Connect(uint16_t port, bool deflate) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) std::exit(2);
  const std::string request = std::string(
                                  "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n") +
                              (deflate ? "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n" : "\r\n");
  if (write(socket, request.data(), request.size()) < 0) std::exit(2);
  std::string answer;
  char c = 0;
  while (!answer.ends_with("\r\n\r\n") && read(socket, &c, 1) == 1) answer += c;
  if (!answer.starts_with("HTTP/1.1 101")) std::exit(2);
  return socket;
}

// Sends as many new messages as came back; the answers are of one known length and are counted by bytes.
void Client(uint16_t port, int connections, double seconds, size_t bytes, int in_flight) {
  const std::string frame = MaskedFrame(bytes);
  const size_t answer = frame.size() - 4;
  std::string burst;
  for (int n = 0; n < in_flight; ++n) burst += frame;
  std::vector<pollfd> polls;
  std::vector<size_t> received(static_cast<size_t>(connections));
  for (int n = 0; n < connections; ++n) {
    polls.push_back({.fd = Connect(port, false), .events = POLLIN, .revents = 0});
    if (write(polls.back().fd, burst.data(), burst.size()) < 0) std::exit(2);
  }
  std::vector<char> buffer(1 << 18);
  const auto end = steady_clock::now() + std::chrono::duration<double>(seconds);
  while (steady_clock::now() < end) {
    poll(polls.data(), polls.size(), 1000);
    for (size_t n = 0; n < polls.size(); ++n) {
      if ((polls[n].revents & POLLIN) == 0) continue;
      const ssize_t got = read(polls[n].fd, buffer.data(), buffer.size());
      if (got <= 0) std::exit(2);
      received[n] += static_cast<size_t>(got);
      const size_t messages = received[n] / answer;
      received[n] %= answer;
      if (messages > 0 && write(polls[n].fd, burst.data(), messages * frame.size()) < 0) std::exit(2);
    }
  }
  std::exit(0);
}

void IdleClient(uint16_t port, int connections, bool deflate, int ready) {
  const std::string frame = MaskedFrame(400);
  std::vector<int> sockets;
  for (int n = 0; n < connections; ++n) {
    sockets.push_back(Connect(port, deflate));
    if (write(sockets.back(), frame.data(), frame.size()) < 0) std::exit(2);
    char answer[512];
    if (read(sockets.back(), answer, sizeof answer) <= 0) std::exit(2);
  }
  if (write(ready, "x", 1) < 0) std::exit(2);
  pause();
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int Run(int connections, double seconds, size_t bytes, int in_flight, bool deflate) {
  ServerSettings settings;
  settings.port = 0;
  settings.io_threads = 1;
  settings.max_connections_per_address = 10000;
  settings.compression = deflate;
  Server server(settings, HttpRouter(), [](Connection& c) { return std::make_shared<Echo>(c); });
  if (const Status status = server.Listen(); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 2;
  }
  server.Accept();
  const double cpu = CpuSeconds();
  const pid_t echo = fork();
  if (echo == 0) Client(server.port(), connections, seconds, bytes, in_flight);
  waitpid(echo, nullptr, 0);
  const double used = CpuSeconds() - cpu;
  const double messages = static_cast<double>(server.Stats().received_bytes) / static_cast<double>(bytes + 8);
  std::printf("echo: %.0f messages, %.0f/s, server %.2f us CPU each\n", messages, messages / seconds,
              used / messages * 1e6);

  constexpr int kIdle = 2000;
  int ready[2];
  if (pipe(ready) != 0) return 2;
  const double before = ResidentKb();
  const pid_t idle = fork();
  if (idle == 0) IdleClient(server.port(), kIdle, deflate, ready[1]);
  char c = 0;
  if (read(ready[0], &c, 1) != 1) return 2;
  std::printf("idle: %.1f KB each (%.0f KB of the process before, %.0f after %d)\n", (ResidentKb() - before) / kIdle,
              before, ResidentKb(), kIdle);
  kill(idle, SIGTERM);
  waitpid(idle, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  const weir::Arguments arguments(
      argc, argv, "server_echo [connections = 1 [seconds = 3 [message bytes = 590 [in flight = 16 [deflate]]]]]", 5);
  return weir::Run(static_cast<int>(arguments.Count(0, 1)), arguments.Number(1, 3), arguments.Count(2, 590),
                   static_cast<int>(arguments.Count(3, 16)), arguments.Text(4, "") == "deflate");
}
