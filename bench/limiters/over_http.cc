#include "bench/limiters/over_http.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/limiters/bare_server.h"
#include "bench/limiters/generator.h"
#include "bench/measure/latency_histogram.h"
#include "bench/measure/process.h"
#include "bench/measure/temporary_directory.h"
#include "bench/relay/endpoint.h"
#include "bench/relay/launch.h"
#include "bench/relay/server_usage.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfig = R"(quota:
  models:
    open: {max_rpm: 0, max_tpm: 1000000000000, max_rpd: 0}
keyed:
  keys:
    open: {window_millis: 1000, max_requests: 1000000000}
endpoints:
  - {path: /open, rate: 1000000000, unit: rps, max_queue_size: 0}
)";
constexpr std::string_view kBody = R"({"model":"open","tokens":1})";

// {"model":"open","tokens":1} as a message of gRPC: not compressed, eight bytes, then its two fields.
constexpr std::string_view kCall{"\0\0\0\0\x08\x0a\x04open\x10\x01", 13};

struct Route {
  std::string name;
  std::string path;
  std::string body_file = {};  // empty: GET
  bool grpc = false;           // only over HTTP/2
};
const std::vector<Route> kRoutes = {
    {.name = "/healthz", .path = "/healthz"},
    {.name = "/rate, granted", .path = "/rate/open"},
    {.name = "/rate, refused", .path = "/rate/full"},
    {.name = "an endpoint, served", .path = "/open"},
    {.name = "/v1/decide", .path = "/v1/decide", .body_file = "body.json"},
    {.name = "gRPC, weir.v1.Quota/Decide", .path = "/weir.v1.Quota/Decide", .body_file = "call.bin", .grpc = true}};
constexpr std::array kGenerators = {Generator::kH2Load, Generator::kH2LoadHttp1, Generator::kWrk};
// With so many a measurement lasts about a second on two cores, client and server.
constexpr double kRequestsASecond[] = {300'000, 60'000, 0};

// A connection of HTTP/1.1 that asks for one path, again and again, and waits for each answer.
class Asker {
 public:
  explicit Asker(int socket) : socket_(socket) {}
  ~Asker() { close(socket_); }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  // Reads once, because these answers have bodies of some hundred bytes, which arrive together with their header.
  Result<std::string> Ask(std::string_view path) {
    const std::string request = "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    std::array<char, 4096> answer{};
    if (send(socket_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
      return Status::Error("the server takes no request");
    const ssize_t bytes = recv(socket_, answer.data(), answer.size(), 0);
    std::string text(answer.data(), static_cast<size_t>(std::max(bytes, ssize_t{0})));
    if (!text.starts_with("HTTP/1.1 200"))
      return Status::Error("the server does not answer GET " + std::string(path) + " with 200");
    return text;
  }

 private:
  const int socket_;
};

// Connects from another address than the generator's, because the server takes the requests of different addresses in
// turn.
Result<int> ConnectFromElsewhere(const Endpoint& endpoint) {
  sockaddr_in from{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK + 1)}, .sin_zero = {}};
  sockaddr_in to{.sin_family = AF_INET,
                 .sin_port = htons(endpoint.port),
                 .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)},
                 .sin_zero = {}};
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket >= 0 && bind(socket, reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0 &&
      connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0)
    return socket;
  const std::string why = std::strerror(errno);
  if (socket >= 0) close(socket);
  return Status::Error("cannot connect from 127.0.0.2: " + why);
}

class OverHttp {
 public:
  OverHttp(const OverHttpLoad& load, FigureTables* figures) : load_(load), figures_(*figures) {}

  Status RunAll() {
    if (!IsInstalled(Generator::kH2Load)) return Status::Error("h2load is not installed (Debian's nghttp2-client)");
    if (Status s = StartServer(); !s.ok()) return s;
    for (int repetition = 1; repetition <= load_.repetitions; ++repetition) {
      for (const Route& route : kRoutes)
        for (const Generator generator : kGenerators)
          if (Status s = Measure(route, generator, repetition); !s.ok()) return s;
      if (Status s = MeasureBare(repetition); !s.ok()) return s;
      if (Status s = MeasureQuietKey(repetition); !s.ok()) return s;
    }
    return server_->Stop();
  }

 private:
  Status StartServer() {
    auto directory = TemporaryDirectory::Make(load_.scratch);
    if (!directory.ok()) return directory.status();
    directory_ = std::move(directory).value();
    std::ofstream(directory_->path() / "weir.yaml") << kConfig;
    std::ofstream(directory_->path() / "body.json") << kBody;
    std::ofstream(directory_->path() / "call.bin") << kCall;
    const Result<uint16_t> port = FreePort();
    if (!port.ok()) return port.status();
    endpoint_.port = port.value();
    const std::string command = FillIn(load_.server, {{"{port}", std::to_string(port.value())},
                                                      {"{config}", (directory_->path() / "weir.yaml").string()}});
    auto server = Process::Start(command, directory_->path() / "server.log", "server");
    if (!server.ok()) return server.status();
    server_ = std::move(server).value();
    constexpr int kMostTries = 3000;
    for (int tries = 0; tries < kMostTries; ++tries) {
      if (server_->Ended(std::chrono::milliseconds(20))) return Status::Error(server_->Fate());
      if (const auto socket = ConnectTo(endpoint_); socket.ok()) return StartBareServer(socket.value());
    }
    return Status::Error("the server does not listen; it said: " + LastLine(server_->log()));
  }

  // Starts the bare server with the gate's answer for a key.
  Status StartBareServer(int socket) {
    const Result<std::string> answer = Asker(socket).Ask("/rate/open");
    if (!answer.ok()) return answer.status();
    auto bare = BareServer::Start(answer.value());
    if (!bare.ok()) return bare.status();
    bare_ = std::move(bare).value();
    return Status();
  }

  HttpLoad LoadOf(const Route& route, Generator generator, uint16_t port) const {
    HttpLoad load{.url = "http://127.0.0.1:" + std::to_string(port) + route.path, .time = FromSeconds(load_.seconds)};
    load.requests = static_cast<uint64_t>(kRequestsASecond[static_cast<size_t>(generator)] * load_.seconds) + 100;
    if (!route.body_file.empty()) load.options = "-d " + (directory_->path() / route.body_file).string();
    if (route.grpc) load.options += " -H 'content-type: application/grpc' -H 'te: trailers'";
    return load;
  }

  Status Measure(const Route& route, Generator generator, int repetition) {
    // wrk can send a body only from a script.
    if (generator == Generator::kWrk && !route.body_file.empty()) return Status();
    if (generator != Generator::kH2Load && route.grpc) return Status();
    return Measure(route, generator, repetition, server_->pid(), endpoint_.port);
  }

  Status MeasureBare(int repetition) {
    const Route route{.name = "nothing but epoll, recv and send", .path = "/"};
    for (const Generator generator : {Generator::kH2LoadHttp1, Generator::kWrk})
      if (Status s = Measure(route, generator, repetition, bare_->pid(), bare_->port()); !s.ok()) return s;
    return Status();
  }

  Status Measure(const Route& route, Generator generator, int repetition, pid_t pid, uint16_t port) {
    if (!IsInstalled(generator)) return Status();
    const Result<Duration> before = ProcessorTime(pid);
    const Result<HttpLoadOutcome> outcome =
        Run(generator, LoadOf(route, generator, port), directory_->path() / "generator.log");
    const Result<Duration> after = ProcessorTime(pid);
    if (!outcome.ok()) return outcome.status();
    if (!before.ok() || !after.ok()) return Status::Error("the server has ended; it said: " + LastLine(server_->log()));
    const auto requests = static_cast<double>(outcome.value().requests);
    figures_.Add(repetition, route.name, NameOf(generator),
                 {{"server CPU each", "us", ToSeconds(after.value() - before.value()) * 1e6 / requests},
                  {"client CPU each", "us", ToSeconds(outcome.value().client_cpu) * 1e6 / requests},
                  {"rate", "1/s", outcome.value().per_second}});
    return Status();
  }

  Status MeasureQuietKey(int repetition) {
    const auto socket = ConnectFromElsewhere(endpoint_);
    if (!socket.ok()) return socket.status();
    Asker asker(socket.value());
    Result<HttpLoadOutcome> flood = Status::Error("was not begun");
    std::atomic<bool> over{false};
    std::thread flooding([&] {
      flood = Run(Generator::kH2Load, LoadOf({.name = "", .path = "/rate/full"}, Generator::kH2Load, endpoint_.port),
                  directory_->path() / "generator.log");
      over = true;
    });
    LatencyHistogram latencies;
    Status status;
    while (status.ok() && !over) {
      const TimePoint from = Clock::System().Now();
      status = asker.Ask("/rate/open").status();
      latencies.Record(Clock::System().Now() - from);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    flooding.join();
    if (!status.ok() || !flood.ok()) return status.ok() ? flood.status() : status;
    figures_.Add(repetition, "/rate, a quiet key beside a flooded one", "one connection",
                 {{"median", "ms", Milliseconds(latencies.Quantile(0.5))},
                  {"p99", "ms", Milliseconds(latencies.Quantile(0.99))}});
    return Status();
  }

  const OverHttpLoad& load_;
  FigureTables& figures_;
  std::unique_ptr<TemporaryDirectory> directory_;
  Endpoint endpoint_;
  std::unique_ptr<Process> server_;
  std::unique_ptr<BareServer> bare_;
};

}  // namespace

Status MeasureLimitersOverHttp(const OverHttpLoad& load, FigureTables* figures) {
  return OverHttp(load, figures).RunAll();
}

}  // namespace weir
