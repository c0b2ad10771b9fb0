#include "relay/gate/gate.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>

#include "relay/gate/calls_under_way.h"
#include "relay/gate/cross_site.h"
#include "relay/gate/file_mark.h"
#include "relay/gate/gate_metrics.h"
#include "relay/gate/plain_errors.h"
#include "relay/gate/quota_json.h"
#include "relay/gate/serving.h"
#include "relay/gate/store_log.h"
#include "relay/gate/waiting_calls.h"

namespace weir {
namespace {

std::string DescribeConfig(const QuotaConfig& config) {
  std::string text = config.providers.empty() ? "no profiles" : "profiles of ";
  for (const Provider provider : config.providers)
    text += std::string(text.ends_with(' ') ? "" : ", ") + std::string(NameOf(provider));
  text += "; " + std::to_string(config.quotas.size()) + " models with quotas of their own; unknown models are " +
          (config.unknown_models == UnknownModels::kAllow ? "allowed" : "refused");
  text += config.when_store_away == WhenStoreAway::kAllow ? "; when the store is away everything goes"
                                                          : "; when the store is away nothing goes";
  if (config.shadow) text += "; shadow mode: nothing is refused";
  return text;
}

// SQLite's wait for a lock.
constexpr std::chrono::seconds kLongestBlockingCall{5};

HttpResponse RefusalOfAnotherSite() {
  return {.status = 403,
          .content_type = "application/json",
          .body = WriteError(
              {.code = "forbidden", .message = "a page of another site may not ask this in somebody's browser"})};
}

}  // namespace

// From the ground up: what stands below is used by what stands above it, and goes after it.
struct QuotaGate::Rep {
  Rep(const GateSettings& s, std::unique_ptr<QuotaStore> opened, const QuotaConfig& config)
      : settings(s),
        store(std::move(opened)),
        limiter(*store, config, Clock::System(), &metrics),
        api(limiter, s.dialect),
        store_log(store->name()),
        file(s.config_file) {}

  void Answer(const QuotaRoute& route, const HttpRequest& request, HttpReply reply);
  void Run(const std::stop_token& stop);
  void Reload();
  bool ReadConfig();
  void LogStated(const Result<std::vector<std::string>>& stated);
  void LogDifferences(const std::stop_token& stop);
  void Stop();

  const GateSettings settings;
  const std::unique_ptr<QuotaStore> store;
  GateMetrics metrics;
  QuotaLimiter limiter;
  QuotaApi api;
  CallsUnderWay calls;
  WaitingCalls waiting;

  // Of Open, then of the thread.
  StoreLog store_log;
  FileWatch file;
  bool has_section = false;  // what was read of the file
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
    return waiting.Submit(request.address, std::move(reply),
                          [this, call = route.call, model, request](HttpReply waiting_reply) {
                            api.Answer(call, model(request), request, std::move(waiting_reply));
                          });
  }
  // What answers at once has answered before the server, and with it the connection, is gone.
  if (store->pace() != QuotaStore::Pace::kAsynchronous)
    return api.Answer(route.call, model(request), request, std::move(reply));
  api.Answer(route.call, model(request), request,
             [reply = std::move(reply), under_way = calls.Begin()](HttpResponse answer) { reply(std::move(answer)); });
}

// On an error, which is logged, what runs goes on. False: the file is being written, and is read when it rests.
bool QuotaGate::Rep::ReadConfig() {
  Result<QuotaConfig> config = QuotaConfig();
  bool found = false;
  std::vector<std::string> warnings;
  if (!file.ReadWhole([&] { config = ReadGateConfig(settings, &found, &warnings); })) return false;
  // Emptied, or written as far as its first lines: everybody's quotas would go.
  if (config.ok() && has_section && !found) {
    config = Result<QuotaConfig>(
        Status::Error(settings.config_file + " has no quota: any more; say `quota: {}` if nothing is to hold"));
  }
  metrics.OnConfigRead(config.ok());
  if (!config.ok()) {
    spdlog::error("the quotas stay as they were: {}", config.status().message());
    return true;
  }
  has_section = found;
  spdlog::info("{} was read: {}", settings.config_file, DescribeConfig(config.value()));
  for (const std::string& warning : warnings) spdlog::warn("{}", warning);
  LogStated(limiter.Reconfigure(std::move(config).value()));
  return true;
}

// What an operator asked for.
void QuotaGate::Rep::Reload() {
  if (settings.config_file.empty()) {
    spdlog::info("there is no configuration of quotas to read again: WEIR_CONFIG is not set");
  } else if (!ReadConfig()) {
    spdlog::info("{} is being written; it is read when that is done", settings.config_file);
  }
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

// Who asked for the file to be read expects it to hold; somebody may have stated another quota since it was said.
void QuotaGate::Rep::LogDifferences(const std::stop_token& stop) {
  const std::shared_ptr<const QuotaConfig> config = limiter.config();
  for (const auto& [model, quota] : config->quotas) {
    if (stop.stop_requested()) return;
    const Result<ModelStats> stats = limiter.Stats(model);
    if (!stats.ok()) return;
    const ModelQuota holds = stats.value().quota.value_or(ModelQuota{});
    if (holds == quota) continue;
    spdlog::warn(
        "{}: max_rpm {}, max_tpm {}, max_rpd {} hold, as somebody stated them after the file, which says {}, {}, {}",
        model, holds.max_rpm, holds.max_tpm, holds.max_rpd, quota.max_rpm, quota.max_tpm, quota.max_rpd);
  }
}

void QuotaGate::Rep::Run(const std::stop_token& stop) {
  auto upkeep_at = std::chrono::steady_clock::now();
  while (true) {
    if (std::chrono::steady_clock::now() >= upkeep_at) {
      store->Prune();
      upkeep_at = std::chrono::steady_clock::now() + settings.upkeep_interval;
    }
    bool asked = false;
    {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, stop, settings.watch_interval, [this] { return reload_wanted; });
      asked = std::exchange(reload_wanted, false);
    }
    if (stop.stop_requested()) return;
    if (asked) {
      Reload();
    } else if (!settings.config_file.empty() && file.Look()) {
      ReadConfig();
    }
    if (stop.stop_requested()) return;
    LogStated(limiter.StateQuotas());
    if (asked) LogDifferences(stop);
    store_log.Look(store->Health(), Clock::System().Now());
    if (stop.stop_requested()) return;
  }
}

void QuotaGate::Rep::Stop() {
  if (std::exchange(stopped, true)) return;
  waiting.BeginStop();
  thread.request_stop();
  if (thread.joinable()) thread.join();
  waiting.Stop();
  calls.AwaitEnd();
  if (const Status status = store->Persist(); !status.ok())
    spdlog::error("what the quotas have counted may be lost: {}", status.message());
}

QuotaGate::QuotaGate(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
QuotaGate::~QuotaGate() { rep_->Stop(); }

Result<std::unique_ptr<QuotaGate>> QuotaGate::Open(const GateSettings& settings) {
  FileWatch file(settings.config_file);
  bool has_section = false;
  Result<QuotaConfig> config = QuotaConfig();
  // Where it changes meanwhile, the watch reads it again.
  std::vector<std::string> warnings;
  file.ReadWhole([&] { config = ReadGateConfig(settings, &has_section, &warnings); });
  if (!config.ok()) return config.status();
  Result<std::unique_ptr<QuotaStore>> store = OpenQuotaStore(settings.store);
  if (!store.ok()) return store.status();
  spdlog::info("quotas: kept in {}; {}; {}", store.value()->name(),
               settings.config_file.empty() ? "no configuration file" : "configuration " + settings.config_file,
               DescribeConfig(config.value()));
  for (const std::string& warning : warnings) spdlog::warn("{}", warning);
  auto rep = std::make_unique<Rep>(settings, std::move(store).value(), config.value());
  rep->file = std::move(file);
  rep->has_section = has_section;
  rep->LogStated(rep->limiter.StateQuotas());
  rep->thread = std::jthread([r = rep.get()](const std::stop_token& stop) { r->Run(stop); });
  return std::unique_ptr<QuotaGate>(new QuotaGate(std::move(rep)));
}

void QuotaGate::AddRoutes(HttpRouter& router, const GateSettings& settings, const Refusal& refusal,
                          const std::function<QuotaGate&()>& gate) {
  if (settings.api == ServedQuotaApi::kOff) return;
  router.AddWording("/v1/", PlainErrorAsJson);
  for (const QuotaRoute& route : QuotaApi::Routes()) {
    const bool for_admins = route.for_admins || settings.api == ServedQuotaApi::kAdmins;
    router.AddDeferred(std::string(route.method), std::string(route.path),
                       [gate, &route, refusal, for_admins](const HttpRequest& request, HttpReply reply) {
                         if (IsChangeByAnotherSite(request)) return reply(RefusalOfAnotherSite());
                         if (for_admins)
                           if (auto refused = refusal(request)) return reply(PlainErrorAsJson(*std::move(refused)));
                         gate().rep_->Answer(route, request, std::move(reply));
                       });
  }
}

void QuotaGate::AppendMetrics(MetricFamilies& families) const {
  rep_->metrics.AppendTo(families, rep_->store->Health());
}

Status QuotaGate::Ready() const { return CanDecide(rep_->store->Health(), *rep_->limiter.config()); }

std::chrono::milliseconds QuotaGate::longest_call() const {
  return rep_->store->pace() == QuotaStore::Pace::kBlocks ? kLongestBlockingCall : std::chrono::milliseconds(0);
}

bool QuotaGate::all_is_in_store() const { return rep_->store->pace() != QuotaStore::Pace::kAtOnce; }

void QuotaGate::ReloadSoon() {
  const std::lock_guard lock(rep_->mutex);
  rep_->reload_wanted = true;
  rep_->changed.notify_all();
}

void QuotaGate::Stop() { rep_->Stop(); }

}  // namespace weir
