#include "tests/histories/stage.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace weir::histories {
namespace {

using namespace std::chrono_literals;

constexpr int kPostgresRelays = 3;
// The relays use few connections for reads, so that a lock exhausts them at once.
constexpr const char* kSettings =
    "WEIR_PORT={port} WEIR_DATA_DIR={db} WEIR_RATE_LIMIT_TARGET_MEMORY_MB=400 WEIR_POSTGRES_CONNECTIONS=4";
const std::vector<std::string> kServerSettings = {"max_connections=100"};

}  // namespace

struct Stage::Nemesis {
  std::string name;
  bool by_postgres;   // needs a PostgreSQL
  bool of_one_relay;  // disturbs one relay, not all
  bool once;          // strikes once in a run
  Time takes;         // at most about
  std::function<Status(Stage&, size_t relay)> strike;
};

const std::vector<Stage::Nemesis>& Stage::Nemeses() {
  static const std::vector<Nemesis> all = {
      {"kill -9 of a relay", false, true, false, 2s, [](Stage& s, size_t relay) { return s.KillRelay(relay); }},
      {"SIGSTOP of a relay, 3 s", false, true, false, 3s,
       [](Stage& s, size_t relay) { return s.StopRelay(relay, 3s); }},
      {"SIGSTOP of a relay, 30 s", false, true, false, 30s,
       [](Stage& s, size_t relay) { return s.StopRelay(relay, 30s); }},
      {"clock moved by 10 min", false, true, false, 0s, [](Stage& s, size_t relay) { return s.MoveClock(relay); }},
      {"LISTEN cut", true, false, false, 0s, [](Stage& s, size_t) { return s.CutBus(); }},
      {"pool exhausted, 3 s", true, false, false, 3s, [](Stage& s, size_t) { return s.ExhaustPool(3s); }},
      {"pool exhausted, 15 s", true, false, false, 15s, [](Stage& s, size_t) { return s.ExhaustPool(15s); }},
      {"primary killed, standby promoted", true, false, true, 2s, [](Stage& s, size_t) { return s.Promote(); }},
  };
  return all;
}

Result<std::unique_ptr<Stage>> Stage::Start(const std::filesystem::path& program, bool by_postgres) {
  std::unique_ptr<Stage> stage(new Stage());
  stage->program_ = program;
  auto directory = TemporaryDirectory::Make(std::filesystem::temp_directory_path(), "weir-histories");
  if (!directory.ok()) return directory.status();
  stage->directory_ = std::move(directory).value();
  if (by_postgres) {
    stage->primary_ = std::make_unique<PostgresProcess>(kServerSettings);
    stage->standby_ = std::make_unique<PostgresProcess>(kServerSettings, stage->primary_.get());
    stage->primary_->AwaitStandbys();
    stage->store_ = "postgres://weir@127.0.0.1:" + std::to_string(stage->primary_->port()) +
                    ",127.0.0.1:" + std::to_string(stage->standby_->port()) + "/postgres";
  }
  stage->relays_.resize(by_postgres ? kPostgresRelays : 1);
  stage->clock_moves_.resize(stage->relays_.size());
  for (size_t relay = 0; relay < stage->relays_.size(); ++relay) {
    stage->SetClock(relay, 0s);
    if (Status launched = stage->Launch(relay); !launched.ok()) return launched;
  }
  return stage;
}

// Starts the relay for the first time, or again with the same port and data.
Status Stage::Launch(size_t relay) {
  const std::string name = "relay" + std::to_string(relay);
  RunningRelay& old = relays_[relay];
  const std::optional<Endpoint> endpoint =
      old.target.endpoint.port == 0 ? std::nullopt : std::optional<Endpoint>(old.target.endpoint);
  const std::string command = std::string("exec env ") + kSettings + " LD_PRELOAD=" + MOVED_CLOCK +
                              " WEIR_MOVED_CLOCK=" + ClockOf(relay).string() + " WEIR_ORIGIN=" + name +
                              " WEIR_STORE=" + store_ + " " + program_.string() + " relay";
  const auto dir = directory_->path() / name;
  auto launched = weir::Launch(command, dir, dir / "data", endpoint);
  if (!launched.ok()) return launched.status();
  old = std::move(launched).value();
  return {};
}

std::vector<uint16_t> Stage::ports() const {
  std::vector<uint16_t> ports;
  for (const RunningRelay& relay : relays_) ports.push_back(relay.target.endpoint.port);
  return ports;
}

Status Stage::Strike(Recorder& recorder, std::mt19937_64& random, Time left) {
  if (waiting_.empty()) {
    for (const Nemesis& nemesis : Nemeses()) waiting_.push_back(&nemesis);
    std::shuffle(waiting_.begin(), waiting_.end(), random);
  }
  const Nemesis& nemesis = *waiting_.back();
  waiting_.pop_back();
  size_t& strikes = strikes_[nemesis.name];
  if (nemesis.takes > left / 3 || (nemesis.once && strikes > 0) || (nemesis.by_postgres && store_ == "rocksdb"))
    return {};
  const size_t relay = random() % relays_.size();
  const Time begin = recorder.Now();
  for (RunningRelay& each : relays_)
    if (each.process->Ended()) return Status::Error("a relay ended by itself: " + each.process->Fate());
  if (Status struck = nemesis.strike(*this, relay); !struck.ok()) return struck;
  ++strikes;
  recorder.Faulted(nemesis.of_one_relay ? static_cast<int>(relay) : kAny, begin);
  return {};
}

Status Stage::KillRelay(size_t relay) {
  relays_[relay].process->Kill();
  return Launch(relay);
}

Status Stage::StopRelay(size_t relay, Time time) const {
  kill(relays_[relay].process->pid(), SIGSTOP);
  std::this_thread::sleep_for(time);
  kill(relays_[relay].process->pid(), SIGCONT);
  return {};
}

// Moves the clock ten minutes ahead, back to the right time, ten minutes behind, and back.
Status Stage::MoveClock(size_t relay) {
  static constexpr std::array<std::chrono::seconds, 4> kOffsets = {10min, 0s, -10min, 0s};
  SetClock(relay, kOffsets[clock_moves_[relay]++ % kOffsets.size()]);
  return {};
}

// Does not cut the file, because the relay has mapped it.
void Stage::SetClock(size_t relay, std::chrono::seconds ahead) const {
  const int64_t seconds = ahead.count();
  const int file = open(ClockOf(relay).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0 || pwrite(file, &seconds, sizeof seconds, 0) != sizeof seconds)
    throw std::runtime_error("cannot write " + ClockOf(relay).string());
  close(file);
}

Status Stage::CutBus() const {
  Ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
      " WHERE pid <> pg_backend_pid() AND (query LIKE '%LISTEN weir' OR query LIKE '%pg_notify%')");
  return {};
}

Status Stage::ExhaustPool(Time time) const {
  Ask("BEGIN; LOCK TABLE weir_events IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(" + std::to_string(time / 1s) +
      "); COMMIT");
  return {};
}

Status Stage::Promote() {
  primary_.reset();
  promoted_ = std::move(standby_);
  promoted_->Ask("SELECT pg_promote()");
  return {};
}

void Stage::RecordSerials(Recorder& recorder, bool all) {
  if (store_ == "rocksdb") return;
  std::istringstream rows(
      Ask("SELECT string_agg(origin || ' ' || serial || ' ' || encode(id, 'hex'), chr(10))"
          " FROM weir_events" +
          std::string(all ? "" : " WHERE created_at > extract(epoch FROM now()) - 60")));
  for (std::string row; std::getline(rows, row);) {
    if (!serials_.insert(row).second) continue;
    std::istringstream columns(row);
    Serial serial;
    columns >> serial.origin >> serial.number >> serial.id;
    recorder.Gave(std::move(serial));
  }
}

void Stage::LoseRows() {
  Ask("DELETE FROM weir_events WHERE id IN (SELECT id FROM weir_events WHERE kind = 1"
      " AND created_at < extract(epoch FROM now()) - 1 ORDER BY created_at DESC LIMIT 20)");
}

void Stage::RestoreRows() {
  Ask("SET client_min_messages = warning;"
      "CREATE TABLE IF NOT EXISTS planted AS TABLE weir_events WITH NO DATA;"
      "CREATE TABLE IF NOT EXISTS planted_tags AS TABLE weir_tags WITH NO DATA;"
      "INSERT INTO weir_events SELECT p.* FROM planted p JOIN weir_deleted d ON d.id = p.id"
      "  WHERE NOT EXISTS (SELECT FROM weir_events e WHERE e.id = p.id);"
      "INSERT INTO weir_tags SELECT t.* FROM planted_tags t JOIN weir_deleted d ON d.id = t.id"
      "  WHERE NOT EXISTS (SELECT FROM weir_tags e WHERE e.id = t.id);"
      "INSERT INTO planted SELECT * FROM weir_events e WHERE NOT EXISTS (SELECT FROM planted p WHERE p.id = e.id);"
      "INSERT INTO planted_tags SELECT * FROM weir_tags e WHERE NOT EXISTS (SELECT FROM planted_tags p WHERE p.id = "
      "e.id)");
}

}  // namespace weir::histories
