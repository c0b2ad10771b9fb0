#include "relay/gate/gate.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>

#include "relay/gate/calls_under_way.h"
#include "relay/gate/file_mark.h"
#include "relay/gate/gate_metrics.h"
#include "relay/gate/quota_json.h"
#include "relay/work_pool.h"

namespace weir {
namespace {

// A file that is written by one at a time gains nothing from more; a list of all models must not keep them all.
constexpr size_t kWorkers = 4;
// Looking through all models takes at most one part in so many of the time.
constexpr int kUpkeepShare = 20;

std::string DescribeConfig(const QuotaConfig& config) {
  std::string text = "profiles of ";
  for (const Provider provider : config.providers)
    text += std::string(text.ends_with(' ') ? "" : ", ") + std::string(NameOf(provider));
  text += "; " + std::to_string(config.quotas.size()) + " models with quotas of their own; unknown models are " +
          (config.unknown_models == UnknownModels::kAllow ? "allowed" : "refused");
  text += config.when_store_away == WhenStoreAway::kAllow ? "; when the store is away everything goes"
                                                          : "; when the store is away nothing goes";
  if (config.shadow) text += "; shadow mode: nothing is refused";
  return text;
}

// In the words of the API.
HttpResponse AsJson(HttpResponse refusal) {
  while (refusal.body.ends_with('\n')) refusal.body.pop_back();
  refusal.body = WriteError({.code = refusal.status == 401 ? "unauthorized" : "forbidden", .message = refusal.body});
  refusal.content_type = "application/json";
  return refusal;
}

}  // namespace

// From the ground up: what stands below is used by what stands above it, and goes after it.
struct QuotaGate::Rep {
  Rep(const GateSettings& s, const FileMark& m, std::unique_ptr<QuotaStore> opened, const QuotaConfig& config)
      : settings(s),
        store(std::move(opened)),
        limiter(*store, config, Clock::System(), &metrics),
        api(limiter, s.dialect),
        mark(m) {}

  void Answer(const QuotaRoute& route, const HttpRequest& request, HttpReply reply);
  Status Reload();
  void Run(const std::stop_token& stop);
  void Upkeep();
  void LogStated(const Result<std::vector<std::string>>& stated);
  void StateWhatWasLost();
  void Stop();

  const GateSettings settings;
  const std::unique_ptr<QuotaStore> store;
  GateMetrics metrics;
  QuotaLimiter limiter;
  QuotaApi api;
  CallsUnderWay calls;
  std::unique_ptr<WorkPool> pool = std::make_unique<WorkPool>(kWorkers, 0);

  std::mutex reload_mutex;  // one at a time; for what follows
  FileMark mark;            // of what was read
  std::string stating_error;

  std::mutex mutex;
  std::condition_variable_any changed;
  bool reload_wanted = false;
  bool stopped = false;
  std::jthread thread;  // ends first
};

void QuotaGate::Rep::Answer(const QuotaRoute& route, const HttpRequest& request, HttpReply reply) {
  const auto model = [](const HttpRequest& r) { return r.parameters.empty() ? std::string() : r.parameters[0]; };
  if (api.MayWait(route.call)) {
    const Party party{.id = std::hash<std::string>()(request.address)};
    pool->Submit(Urgency::kFair, party, [this, call = route.call, model, request, reply = std::move(reply)] {
      api.Answer(call, model(request), request, reply);
    });
    return;
  }
  // What answers at once has answered before the server, and with it the connection, is gone.
  if (store->pace() != QuotaStore::Pace::kAsynchronous)
    return api.Answer(route.call, model(request), request, std::move(reply));
  api.Answer(route.call, model(request), request,
             [reply = std::move(reply), under_way = calls.Begin()](HttpResponse answer) { reply(std::move(answer)); });
}

Status QuotaGate::Rep::Reload() {
  if (settings.config_file.empty()) return Status();
  const std::lock_guard lock(reload_mutex);
  mark = MarkOf(settings.config_file);
  Result<QuotaConfig> config = ReadGateConfig(settings);
  metrics.OnConfigRead(config.ok());
  if (!config.ok()) {
    spdlog::error("the quotas stay as they were: {}", config.status().message());
    return config.status();
  }
  spdlog::info("{} was read: {}", settings.config_file, DescribeConfig(config.value()));
  LogStated(limiter.Reconfigure(std::move(config).value()));
  return Status();
}

// What could not be said to the store is said again at the next beat.
void QuotaGate::Rep::LogStated(const Result<std::vector<std::string>>& stated) {
  if (stated.ok()) {
    for (const std::string& warning : stated.value()) spdlog::warn("{}", warning);
  } else if (stated.status().message() != stating_error) {
    spdlog::warn("the quotas of the configuration hold here only, for now: {}", stated.status().message());
  }
  stating_error = stated.status().message();
}

void QuotaGate::Rep::Run(const std::stop_token& stop) {
  auto upkeep_at = std::chrono::steady_clock::now();
  while (!stop.stop_requested()) {
    if (const auto begin = std::chrono::steady_clock::now(); begin >= upkeep_at) {
      Upkeep();
      const auto end = std::chrono::steady_clock::now();
      upkeep_at = end + std::max<std::chrono::nanoseconds>(settings.upkeep_interval, kUpkeepShare * (end - begin));
    }
    bool reload = false;
    {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, stop, settings.watch_interval, [this] { return reload_wanted; });
      reload = std::exchange(reload_wanted, false);
    }
    if (stop.stop_requested()) return;
    if (!reload && !settings.config_file.empty()) {
      const std::lock_guard lock(reload_mutex);
      reload = MarkOf(settings.config_file) != mark;
    }
    if (reload) static_cast<void>(Reload());
    const std::lock_guard lock(reload_mutex);
    LogStated(limiter.StateQuotas());
  }
}

void QuotaGate::Rep::Upkeep() {
  store->Prune();
  StateWhatWasLost();
  const auto models = limiter.AllStats();
  if (!models.ok()) return;
  int64_t open = 0;
  for (const ModelStats& model : models.value()) open += model.usage.open_reservations;
  metrics.OnModels(models.value().size(), static_cast<uint64_t>(open));
}

// A server may come back empty.
void QuotaGate::Rep::StateWhatWasLost() {
  if (store->pace() == QuotaStore::Pace::kAtOnce) return;
  const std::shared_ptr<const QuotaConfig> config = limiter.config();
  for (const auto& [model, quota] : config->quotas) {
    const ChargeAnswer answer = store->Run(Charge{.model = model, .mode = Charge::Mode::kPeek, .requests = 0});
    if (answer.code == QuotaCode::kStoreUnavailable) return;
    if (answer.quota) continue;
    if (!store->SetQuota(model, quota).ok()) return;
    spdlog::info("{} has no quota for {} any more; it was stated again", store->name(), model);
  }
}

void QuotaGate::Rep::Stop() {
  if (std::exchange(stopped, true)) return;
  thread.request_stop();
  if (thread.joinable()) thread.join();
  pool.reset();
  calls.AwaitEnd();
  if (const Status status = store->Persist(); !status.ok())
    spdlog::error("what the quotas have counted may be lost: {}", status.message());
}

QuotaGate::QuotaGate(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
QuotaGate::~QuotaGate() { rep_->Stop(); }

Result<std::unique_ptr<QuotaGate>> QuotaGate::Open(const GateSettings& settings) {
  const FileMark mark = settings.config_file.empty() ? FileMark() : MarkOf(settings.config_file);
  Result<QuotaConfig> config = ReadGateConfig(settings);
  if (!config.ok()) return config.status();
  Result<std::unique_ptr<QuotaStore>> store = OpenQuotaStore(settings.store);
  if (!store.ok()) return store.status();
  spdlog::info("quotas: kept in {}; {}; {}", store.value()->name(),
               settings.config_file.empty() ? "no configuration file" : "configuration " + settings.config_file,
               DescribeConfig(config.value()));
  auto rep = std::make_unique<Rep>(settings, mark, std::move(store).value(), config.value());
  rep->LogStated(rep->limiter.StateQuotas());
  rep->thread = std::jthread([r = rep.get()](const std::stop_token& stop) { r->Run(stop); });
  return std::unique_ptr<QuotaGate>(new QuotaGate(std::move(rep)));
}

void QuotaGate::AddRoutes(HttpRouter& router, Refusal refusal) {
  for (const QuotaRoute& route : QuotaApi::Routes()) {
    router.AddDeferred(std::string(route.method), std::string(route.path),
                       [this, &route, refusal](const HttpRequest& r, HttpReply reply) {
                         Answer(route, r, refusal, std::move(reply));
                       });
  }
}

void QuotaGate::Answer(const QuotaRoute& route, const HttpRequest& request, const Refusal& refusal, HttpReply reply) {
  if (route.for_admins)
    if (auto refused = refusal(request)) return reply(AsJson(*std::move(refused)));
  rep_->Answer(route, request, std::move(reply));
}

void QuotaGate::AppendMetrics(MetricFamilies& families) const {
  rep_->metrics.AppendTo(families, rep_->store->Health());
}

Status QuotaGate::Ready() const {
  if (rep_->limiter.config()->when_store_away == WhenStoreAway::kAllow) return Status();
  if (rep_->store->pace() == QuotaStore::Pace::kAtOnce) return Status();
  const StoreHealth health = rep_->store->Health();
  if (health.breaker != StoreHealth::Breaker::kOpen && health.problem.empty()) return Status();
  return Status::Error(rep_->store->name() + " does not answer: " + health.problem);
}

Status QuotaGate::Reload() { return rep_->Reload(); }

void QuotaGate::ReloadSoon() {
  const std::lock_guard lock(rep_->mutex);
  rep_->reload_wanted = true;
  rep_->changed.notify_all();
}

void QuotaGate::Stop() { rep_->Stop(); }

QuotaLimiter& QuotaGate::limiter() { return rep_->limiter; }

}  // namespace weir
