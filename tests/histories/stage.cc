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
    "WEIR_PORT={port} WEIR_DATA_DIR={db} WEIR_RATE_LIMIT_TARGET_MEMORY_MB=400 WEIR_POSTGRES_CONNECTIONS=4"
    " WEIR_ADMIN_FROM_LOOPBACK=true";
const std::vector<std::string> kServerSettings = {"max_connections=100"};

}  // namespace

struct Stage::Nemesis {
  enum class Disturbs : uint8_t { kRelay, kAllRelays, kBus };

  std::string name;
  std::set<Scene> scenes;  // in which it can strike
  Disturbs disturbs;
  bool once;   // strikes once in a run
  Time takes;  // at most about
  std::function<Status(Stage&, size_t relay)> strike;
};

const std::vector<Stage::Nemesis>& Stage::Nemeses() {
  using enum Scene;
  using enum Nemesis::Disturbs;
  static const std::set<Scene> kAll = {kRocksDb, kNotify, kRedis};
  static const std::set<Scene> kPostgres = {kNotify, kRedis};
  static const std::vector<Nemesis> all = {
      {"kill -9 of a relay", kAll, kRelay, false, 2s, [](Stage& s, size_t relay) { return s.KillRelay(relay); }},
      {"SIGSTOP of a relay, 3 s", kAll, kRelay, false, 3s,
       [](Stage& s, size_t relay) { return s.StopRelay(relay, 3s); }},
      {"SIGSTOP of a relay, 30 s", kAll, kRelay, false, 30s,
       [](Stage& s, size_t relay) { return s.StopRelay(relay, 30s); }},
      {"clock moved by 10 min", kAll, kRelay, false, 0s, [](Stage& s, size_t relay) { return s.MoveClock(relay); }},
      {"LISTEN cut", {kNotify}, kBus, false, 0s, [](Stage& s, size_t) { return s.CutListen(); }},
      {"SUBSCRIBE cut", {kRedis}, kBus, false, 0s, [](Stage& s, size_t) { return s.CutSubscribers(); }},
      {"SIGSTOP of the Redis, 3 s", {kRedis}, kBus, false, 3s, [](Stage& s, size_t) { return s.StopRedis(); }},
      {"kill -9 of the Redis", {kRedis}, kBus, false, 2s, [](Stage& s, size_t) { return s.KillRedis(); }},
      {"pool exhausted, 3 s", kPostgres, kAllRelays, false, 3s, [](Stage& s, size_t) { return s.ExhaustPool(3s); }},
      {"pool exhausted, 15 s", kPostgres, kAllRelays, false, 15s, [](Stage& s, size_t) { return s.ExhaustPool(15s); }},
      {"primary killed, standby promoted", kPostgres, kAllRelays, true, 2s,
       [](Stage& s, size_t) { return s.Promote(); }},
  };
  return all;
}

Result<std::unique_ptr<Stage>> Stage::Start(const std::filesystem::path& program, Scene scene, Recorder& recorder) {
  std::unique_ptr<Stage> stage(new Stage(program, scene, recorder));
  auto directory = TemporaryDirectory::Make(std::filesystem::temp_directory_path(), "weir-histories");
  if (!directory.ok()) return directory.status();
  stage->directory_ = std::move(directory).value();
  if (scene != Scene::kRocksDb) {
    stage->primary_ = std::make_unique<PostgresProcess>(kServerSettings);
    stage->standby_ = std::make_unique<PostgresProcess>(kServerSettings, stage->primary_.get());
    stage->primary_->AwaitStandbys();
    stage->store_ = "postgres://weir@127.0.0.1:" + std::to_string(stage->primary_->port()) +
                    ",127.0.0.1:" + std::to_string(stage->standby_->port()) + "/postgres";
  }
  if (scene == Scene::kRedis) stage->redis_ = std::make_unique<RedisProcess>();
  stage->relays_.resize(scene == Scene::kRocksDb ? 1 : kPostgresRelays);
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
                              " WEIR_STORE=" + store_ + (redis_ ? " WEIR_BUS=" + redis_->url() : "") + " " +
                              program_.string() + " relay";
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

Status Stage::Strike(std::mt19937_64& random, Time left) {
  if (waiting_.empty()) {
    for (const Nemesis& nemesis : Nemeses())
      if (nemesis.scenes.contains(scene_)) waiting_.push_back(&nemesis);
    std::shuffle(waiting_.begin(), waiting_.end(), random);
  }
  const Nemesis& nemesis = *waiting_.back();
  waiting_.pop_back();
  size_t& strikes = strikes_[nemesis.name];
  if (nemesis.takes > left / 3 || (nemesis.once && strikes > 0)) return {};
  const size_t relay = random() % relays_.size();
  const Time begin = recorder_.Now();
  for (RunningRelay& each : relays_)
    if (each.process->Ended()) return Status::Error("a relay ended by itself: " + each.process->Fate());
  if (Status struck = nemesis.strike(*this, relay); !struck.ok()) return struck;
  ++strikes;
  // Relays must work on without the bus.
  if (nemesis.disturbs != Nemesis::Disturbs::kBus)
    recorder_.Faulted(nemesis.disturbs == Nemesis::Disturbs::kRelay ? static_cast<int>(relay) : kAny, begin);
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
  const std::chrono::seconds ahead = kOffsets[clock_moves_[relay]++ % kOffsets.size()];
  const Time begin = recorder_.Now();
  SetClock(relay, ahead);
  recorder_.ClockMoved(static_cast<int>(relay), begin, ahead);
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

Status Stage::CutListen() const {
  Ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
      " WHERE pid <> pg_backend_pid() AND (query LIKE '%LISTEN weir' OR query LIKE '%pg_notify%')");
  return {};
}

Status Stage::CutSubscribers() {
  const RedisAnswer answer = redis_->Command({"CLIENT", "KILL", "TYPE", "pubsub"});
  return answer.ok() ? Status() : Status::Error("CLIENT KILL: " + answer.text);
}

Status Stage::StopRedis() {
  redis_->Pause();
  std::this_thread::sleep_for(3s);
  redis_->Resume();
  return {};
}

Status Stage::KillRedis() {
  redis_->Kill();
  std::this_thread::sleep_for(1s);
  redis_->Start();
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

void Stage::RecordSerials(bool all) {
  if (scene_ == Scene::kRocksDb) return;
  std::istringstream rows(
      Ask("SELECT string_agg(origin || ' ' || serial || ' ' || encode(id, 'hex'), chr(10))"
          " FROM weir_events" +
          std::string(all ? "" : " WHERE created_at > extract(epoch FROM now()) - 60")));
  for (std::string row; std::getline(rows, row);) {
    if (!serials_.insert(row).second) continue;
    std::istringstream columns(row);
    Serial serial;
    columns >> serial.origin >> serial.number >> serial.id;
    recorder_.Gave(std::move(serial));
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
