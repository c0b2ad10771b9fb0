#include "tests/hostile/arena.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "bench/measure/process.h"
#include "bench/relay/server_usage.h"
#include "tests/fixtures/certificates.h"
#include "tests/fixtures/raw_client.h"

namespace weir {
namespace {

// A relay of some size whose own buffers and caches stay small beside what an attacker may hold.
constexpr const char* kTarget = "WEIR_RATE_LIMIT_TARGET_MEMORY_MB=400 WEIR_RELAY_URL=wss://relay.example";

Status Import(const std::filesystem::path& weir, const std::filesystem::path& events, const std::filesystem::path& data,
              const std::filesystem::path& log) {
  const std::string command =
      "exec " + weir.string() + " import --no-verify --quiet --data-dir " + data.string() + " " + events.string();
  auto child = Process::Start(command, log);
  if (!child.ok()) return child.status();
  if (Status waited = child.value()->Wait(); !waited.ok()) return waited;
  return child.value()->Cost().status();
}

}  // namespace

Result<std::unique_ptr<Arena>> Arena::Start(const ArenaOptions& options) {
  std::unique_ptr<Arena> arena(new Arena());
  auto directory = TemporaryDirectory::Make(options.scratch);
  if (!directory.ok()) return directory.status();
  arena->directory_ = std::move(directory).value();
  const std::filesystem::path dir = arena->directory_->path();
  const std::filesystem::path data = dir / "data";
  if (options.fill) {
    std::ofstream events(dir / "events.jsonl");
    options.fill([&events](const std::string& json) { events << json << '\n'; });
    events.close();
    if (Status filled = Import(options.program, dir / "events.jsonl", data, dir / "import.log"); !filled.ok())
      return filled;
    std::filesystem::remove(dir / "events.jsonl");
  }
  sync();  // flush now what the fill and earlier attacks left to the disk, so that it does not count for this attack
  std::string command = std::string(options.limits) + " exec env " + kTarget;
  if (!options.config.empty()) {
    std::filesystem::create_directory(dir / "config");
    std::ofstream(dir / "config" / "limits.yaml") << options.config;
  }
  for (const std::string& setting : options.settings) command += " " + setting;
  std::optional<Endpoint> endpoint;
  std::optional<Endpoint> front;
  if (options.by_tls) {
    MakeCertificates(dir);
    command += " WEIR_TLS_CERT=" + (dir / "server.crt").string() + " WEIR_TLS_KEY=" + (dir / "server.key").string();
    const auto port = FreePort();
    if (!port.ok()) return port.status();
    arena->front_ = std::make_unique<TlsForwarder>(port.value());
    endpoint.emplace().port = port.value();
    front.emplace().port = arena->front_->port();
  }
  command += " WEIR_PORT={port} WEIR_DATA_DIR={db} " + options.program.string() + " relay";
  auto relay = Launch(command, dir, data, endpoint, front);
  if (!relay.ok()) return relay.status();
  arena->relay_ = std::move(relay).value();
  arena->watch_ = std::thread([a = arena.get()] { a->Watch(); });
  return arena;
}

Arena::~Arena() {
  stops_ = true;
  if (watch_.joinable()) watch_.join();
}

double Arena::AnonymousMb() const {
  const Result<ServerMemory> memory = ReadMemory(relay_.target.pid);
  return memory.ok() ? memory.value().anonymous_mb : 0;
}

double Arena::PartMb(std::string_view part) const {
  RawClient client(clear_port(), "127.0.0.201");
  if (!client.connected() || !client.Send("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")) return -1;
  const auto answer = client.ReadAnswer();
  if (!answer) return -1;
  const std::string name = "weir_memory_part_bytes{part=\"" + std::string(part) + "\"} ";
  const size_t at = answer->body.find(name);
  return at == std::string::npos ? -1 : std::stod(answer->body.substr(at + name.size())) / (1 << 20);
}

void Arena::Watch() {
  while (!stops_) {
    peak_mb_ = std::max(peak_mb_.load(), AnonymousMb());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace weir
