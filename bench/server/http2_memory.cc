// Measures the server's memory for a connection of HTTP/2 and for a request that waits on it. Each of some connections
// requests a page, and then sends some requests that stay unanswered.
//
//   http2_memory [connections [requests on each]]
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/measure/arguments.h"
#include "bench/measure/own_memory.h"
#include "relay/net/server.h"

namespace weir {
namespace {

std::string Frame(char type, char flags, uint32_t stream, std::string_view payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame += static_cast<char>(payload.size() >> shift & 255);
  frame += {type, flags};
  for (const int shift : {24, 16, 8, 0}) frame += static_cast<char>(stream >> shift & 255);
  return frame.append(payload);
}

// Returns the whole GET of a path.
std::string Get(uint32_t stream, const std::string& path) {
  const std::string block = "\x82\x86\x01\x01x\x04" + std::string(1, static_cast<char>(path.size())) + path;
  return Frame(1, 5, stream, block);
}

int Connect(uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) std::exit(2);
  return socket;
}

void Say(int socket, const std::string& bytes) {
  if (write(socket, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::exit(2);
}

void AwaitPage(int socket) {
  std::string heard;
  char buffer[4096];
  while (heard.find("landing") == std::string::npos) {
    const ssize_t bytes = read(socket, buffer, sizeof buffer);
    if (bytes <= 0) std::exit(2);
    heard.append(buffer, static_cast<size_t>(bytes));
  }
}

int Run(int connections, uint32_t requests) {
  std::mutex mutex;
  std::vector<HttpReply> replies;
  std::atomic<size_t> asked{0};
  HttpRouter router;
  router.Add("GET", "/", [](const HttpRequest&) { return HttpResponse{.body = "landing"}; });
  router.AddDeferred("GET", "/wait", [&](const HttpRequest&, const HttpReply& reply) {
    reply.OnLeft([](HttpLeft) {});
    const std::lock_guard lock(mutex);
    replies.push_back(reply);
    ++asked;
  });
  ServerSettings settings;
  settings.port = 0;
  settings.io_threads = 1;
  settings.max_connections_per_address = 100'000;
  settings.max_address_mb = 1024;
  Server server(settings, std::move(router), nullptr);
  if (const Status status = server.Listen(); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 2;
  }
  server.Accept();

  const size_t all = static_cast<size_t>(connections) * requests;
  replies.reserve(all);
  double before = ResidentKb();
  std::vector<int> sockets;
  for (int n = 0; n < connections; ++n) {
    sockets.push_back(Connect(server.port()));
    Say(sockets.back(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(4, 0, 0, "") + Get(1, "/"));
    AwaitPage(sockets.back());
  }
  std::printf("idle: %.1f KB each of %d connections\n", (ResidentKb() - before) / connections, connections);
  before = ResidentKb();
  for (const int socket : sockets) {
    std::string burst;
    for (uint32_t n = 1; n <= requests; ++n) burst += Get(2 * n + 1, "/wait");
    Say(socket, burst);
  }
  while (asked < all) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::printf("waiting: %.2f KB each of %zu requests\n", (ResidentKb() - before) / static_cast<double>(all), all);
  for (const int socket : sockets) close(socket);
  return 0;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  const weir::Arguments arguments(argc, argv, "http2_memory [connections = 100 [requests on each = 100]]", 2);
  return weir::Run(static_cast<int>(arguments.Count(0, 100)), static_cast<uint32_t>(arguments.Count(1, 100)));
}
