// histories: lets clients work on real relays while nemeses disturb these, and checks what the clients saw. Run it by
// `make histories`; README.md says what it proves.
#include <cstdio>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/command_line.h"
#include "tests/histories/publisher.h"
#include "tests/histories/stage.h"
#include "tests/histories/subscriber.h"

namespace weir::histories {
namespace {

using namespace std::chrono_literals;

constexpr int kPublishers = 6;
constexpr int kSubscribers = 6;
constexpr int kSlowSubscribers = 3;
constexpr int kSkipped = 77;

struct Options {
  std::string program;
  std::string store = "postgres";
  std::string bus = "notify";
  std::string plant;
  int seconds = 1800;
  int patience_seconds = 20;
  uint64_t seed = 1;
};

Planted PlantedBy(const std::string& name) {
  size_t n = 0;
  while (n < kPlants.size() && kPlants[n].name != name) ++n;
  return static_cast<Planted>(n);
}

Stage::Scene SceneOf(const Options& options) {
  if (options.store == "rocksdb") return Stage::Scene::kRocksDb;
  return options.bus == "redis" ? Stage::Scene::kRedis : Stage::Scene::kNotify;
}

class Clients {
 public:
  explicit Clients(Company& company) : company_(company) {
    const int relays = static_cast<int>(company.ports.size());
    for (int n = 0; n < kPublishers; ++n) Start<Publisher>(n % relays, static_cast<uint64_t>(n));
    for (int n = 0; n < kSubscribers; ++n) Start<Subscriber>(n % relays, false, static_cast<uint64_t>(n));
    for (int n = 0; n < kSlowSubscribers; ++n) Start<Subscriber>(n % relays, true, static_cast<uint64_t>(n));
  }
  ~Clients() {
    company_.phase = Company::Phase::kOver;
    for (std::thread& thread : threads_) thread.join();
  }
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

 private:
  template <typename Client, typename... Arguments>
  void Start(Arguments... arguments) {
    threads_.emplace_back([this, arguments...] { Client(company_, arguments...).Run(); });
  }

  Company& company_;
  std::vector<std::thread> threads_;
};

// Returns when the time is over and the relays can rest.
Status LetWork(Company& company, Stage& stage, Time end) {
  std::mt19937_64 random(company.seed);
  while (company.recorder.Now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500 + random() % 1500));
    stage.RecordSerials(false);
    if (company.plant.is(Planted::kLose)) stage.LoseRows();
    if (company.plant.is(Planted::kRestore)) stage.RestoreRows();
    if (Status struck = stage.Strike(random, end - company.recorder.Now()); !struck.ok()) return struck;
  }
  return {};
}

void Report(const Verdict& verdict, const Stage& stage, const Options& options) {
  const std::string scene = options.store == "rocksdb" ? "rocksdb" : "postgres, bus " + options.bus;
  std::printf("%s, %d s, seed %llu, patience %d s\n", scene.c_str(), options.seconds,
              static_cast<unsigned long long>(options.seed), options.patience_seconds);
  std::printf("events: %zu acknowledged, %zu refused, %zu unanswered\n", verdict.acknowledged, verdict.refused,
              verdict.unanswered);
  std::printf(
      "received: %zu, %zu of them live; %zu complete answers, %zu times between two versions; %zu had to come\n",
      verdict.deliveries, verdict.live, verdict.complete, verdict.between_versions, verdict.required);
  std::printf("bans: %zu of %zu confirmed; ephemeral events that crossed the bus: %zu\n", verdict.confirmed_bans,
              verdict.bans, verdict.crossed);
  std::printf("faults:");
  for (const auto& [name, count] : stage.strikes())
    if (count > 0) std::printf(" %s: %zu;", name.c_str(), count);
  std::printf("\nviolations:");
  for (size_t n = 0; n < kViolationNames.size(); ++n) std::printf(" %zu %s", verdict.counts[n], kViolationNames[n]);
  std::printf("\n");
  for (const std::string& detail : verdict.details) std::printf("%s\n", detail.c_str());
}

int Judge(const Verdict& verdict, const Plant& plant, bool has_bus) {
  if (verdict.required == 0) {
    std::printf("FAILED: there was nothing to check\n");
    return 1;
  }
  for (size_t n = 0; n < kPlants.size(); ++n) {
    if (!plant.is(static_cast<Planted>(n))) continue;
    const bool found = verdict.count(kPlants[n].found_as) > 0;
    std::printf("the planted fault %s\n", found ? "was found" : "FAILED to be found");
    return found ? 0 : 1;
  }
  // On a slow machine a short run may have none.
  constexpr size_t kEnoughForAll = 500;
  if (verdict.acknowledged > kEnoughForAll && (verdict.confirmed_bans == 0 || (has_bus && verdict.crossed == 0))) {
    std::printf("FAILED: there was no ban, or no event crossed the bus\n");
    return 1;
  }
  std::printf(verdict.sound() ? "sound\n" : "FAILED\n");
  return verdict.sound() ? 0 : 1;
}

int Run(const Options& options) {
  const bool by_postgres = options.store == "postgres";
  if (by_postgres && !PostgresProcess::IsInstalled()) {
    std::printf("no PostgreSQL is installed\n");
    return kSkipped;
  }
  const auto patience = std::chrono::seconds(options.patience_seconds);
  Recorder recorder;
  auto stage = Stage::Start(options.program, SceneOf(options), recorder);
  if (!stage.ok()) {
    std::fprintf(stderr, "histories: %s\n", stage.status().message().c_str());
    return 1;
  }
  Plant plant(PlantedBy(options.plant));
  Company company(recorder, plant, stage.value()->ports(), options.seed);
  Status worked;
  {
    const Clients clients(company);
    worked = LetWork(company, *stage.value(), recorder.Now() + std::chrono::seconds(options.seconds));
    company.phase = Company::Phase::kSettle;
    if (worked.ok()) std::this_thread::sleep_for(patience + 2s);
  }
  if (!worked.ok()) {
    std::fprintf(stderr, "histories: %s\n", worked.message().c_str());
    return 1;
  }
  for (size_t relay = 0; relay < company.ports.size(); ++relay) AskForAll(company, static_cast<int>(relay), patience);
  stage.value()->RecordSerials(true);
  const Verdict verdict = Check(recorder.Take(), patience);
  Report(verdict, *stage.value(), options);
  return Judge(verdict, plant, by_postgres);
}

}  // namespace
}  // namespace weir::histories

int main(int argc, char** argv) {
  weir::histories::Options options;
  weir::CommandLine line(
      "histories",
      "Records what clients of relays see while the relays are killed, stopped and cut off, and checks "
      "that no acknowledged event is lost, comes twice or comes back after its deletion.");
  std::vector<std::string> plants;
  for (const auto& plant : weir::histories::kPlants) plants.emplace_back(plant.name);
  line.Add("weir", &options.program, "the program").Required().ExistingFile();
  line.Add("--store", &options.store, "one relay on a RocksDB, or three on a PostgreSQL")
      .OneOf({"rocksdb", "postgres"})
      .ShowDefault();
  line.Add("--bus", &options.bus, "of the relays on a PostgreSQL").OneOf({"notify", "redis"}).ShowDefault();
  line.Add("--seconds", &options.seconds, "how long clients work").Within(1, 1000000).ShowDefault();
  line.Add("--patience", &options.patience_seconds, "seconds after which EOSE and deliveries are late")
      .Within(1, 3600)
      .ShowDefault();
  line.Add("--seed", &options.seed, "of the clients' and the nemeses' choices").ShowDefault();
  line.Add("--plant", &options.plant, "plants a fault, and fails unless the checker finds it").OneOf(plants);
  if (const std::optional<int> code = line.Parse(argc, argv)) return *code;
  return weir::RunGuarded("histories", [&] { return weir::histories::Run(options); });
}
