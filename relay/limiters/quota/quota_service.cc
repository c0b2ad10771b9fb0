#include "relay/limiters/quota/quota_service.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <string_view>
#include <utility>

#include "relay/admin/other_site.h"
#include "relay/limiters/quota/quota_call.h"
#include "relay/limiters/quota/quota_grpc.h"

namespace weir {
namespace {

std::string DescribeConfig(const QuotaConfig& config) {
  std::string text = config.providers.empty() ? "no profiles" : "profiles of ";
  for (const Provider provider : config.providers)
    text += std::string(text.ends_with(' ') ? "" : ", ") + std::string(NameOf(provider));
  text += "; " + std::to_string(config.quotas.size()) + " models with quotas of their own; unknown models are " +
          (config.unknown_models == UnknownModels::kAllow ? "allowed" : "refused");
  text += config.when_store_away == WhenStoreAway::kAllow ? "; while the store is away, all requests are allowed"
                                                          : "; while the store is away, all requests are refused";
  if (config.shadow) text += "; shadow mode: nothing is refused";
  return text;
}

// The longest time that SQLite waits for a lock (busy_timeout).
constexpr std::chrono::seconds kLongestBlockingCall{5};

}  // namespace

QuotaService::QuotaService(const QuotaSettings& settings, std::unique_ptr<QuotaStore> store, const QuotaConfig& config,
                           Tracer* tracer)
    : settings_(settings),
      tracer_(tracer),
      store_(std::move(store)),
      metrics_(Clock::System(), [this] { Wake(&store_failed_); }),
      limiter_(*store_, config, Clock::System(), &metrics_),
      api_(limiter_, settings.dialect),
      store_log_(store_->name()),
      file_(settings.config_file) {}

QuotaService::~QuotaService() { Stop(); }

Span QuotaService::BeginSpan(QuotaRoute::Call call, const HttpRequest& request) const {
  const std::string_view name = tracer_ == nullptr ? "" : SpanNameOf(call);
  return name.empty() ? Span() : tracer_->BeginServed(name, request.Header("traceparent"));
}

void QuotaService::Answer(const QuotaRoute& route, const HttpRequest& request, HttpReply reply,
                          QuotaAudience audience) {
  const auto model = [](const HttpRequest& r) {
    return r.parameters.empty() ? std::string_view() : std::string_view(r.parameters[0]);
  };
  const Span span = BeginSpan(route.call, request);
  if (api_.MayWait(route.call)) {
    return waiting_.Submit(request.address, std::move(reply),
                           [this, call = route.call, model, request, span, wait = span.Child("wait"),
                            audience](HttpReply waiting_reply) mutable {
                             wait.End();
                             api_.Answer({call, request, model(request), span, audience}, std::move(waiting_reply));
                           });
  }
  // A store that does not answer asynchronously answers within this call, so Stop does not have to wait for the call.
  if (store_->pace() != QuotaStore::Pace::kAsynchronous)
    return api_.Answer({route.call, request, model(request), span, audience}, std::move(reply));
  api_.Answer(
      {route.call, request, model(request), span, audience},
      [reply = std::move(reply), under_way = calls_.Begin()](HttpResponse answer) { reply(std::move(answer)); });
}

void QuotaService::Perform(QuotaRoute::Call call, const HttpRequest& request, HttpReply reply, WaitingCalls::Busy busy,
                           Make make) {
  Span span = BeginSpan(call, request);
  if (!api_.MayWait(call))
    return make(limiter_, std::move(reply),
                store_->pace() == QuotaStore::Pace::kAsynchronous ? calls_.Begin() : nullptr, std::move(span));
  waiting_.Submit(
      request.address, std::move(reply),
      [this, make = std::move(make), span, wait = span.Child("wait")](HttpReply waiting_reply) mutable {
        wait.End();
        make(limiter_, std::move(waiting_reply), nullptr, span);
      },
      std::move(busy));
}

// Reads the file and makes the limiter use it. If the file is wrong, logs the error and keeps the old configuration.
// Returns false if the file changed meanwhile; the service's thread then reads it again once it stays unchanged.
bool QuotaService::ReadConfig() {
  Result<QuotaConfig> config = QuotaConfig();
  bool found = false;
  std::vector<std::string> warnings;
  if (!file_.ReadWhole([&] { config = ReadQuotaConfig(settings_, &found, &warnings); })) return false;
  // The file was emptied, or another program has not written it completely; to use it would remove all quotas.
  if (config.ok() && has_section_ && !found) {
    config = Result<QuotaConfig>(
        Status::Error(settings_.config_file + " has no quota: any more; write `quota: {}` if no quota is to apply"));
  }
  metrics_.OnConfigRead(config.ok());
  if (!config.ok()) {
    spdlog::error("the quotas stay as they were: {}", config.status().message());
    return true;
  }
  has_section_ = found;
  spdlog::info("{} was read: {}", settings_.config_file, DescribeConfig(config.value()));
  for (const std::string& warning : warnings) spdlog::warn("{}", warning);
  LogStated(limiter_.Reconfigure(std::move(config).value()));
  return true;
}

// Reads the file again because an operator asked for it.
void QuotaService::Reload() {
  if (settings_.config_file.empty()) {
    spdlog::info("there is no configuration of quotas to read again: WEIR_CONFIG is not set");
  } else if (!ReadConfig()) {
    spdlog::info("{} is being written; it is read when that is done", settings_.config_file);
  }
}

// Logs the result of StateQuotas, which writes the configuration's quotas to the store. If it failed, the thread tries
// it again at the next look, and the same error is not logged again.
void QuotaService::LogStated(const Result<std::vector<std::string>>& stated) {
  if (stated.ok()) {
    for (const std::string& warning : stated.value()) spdlog::warn("{}", warning);
  } else if (stated.status().message() != stating_error_) {
    spdlog::warn("the quotas of the configuration apply only here for now: {}", stated.status().message());
  }
  stating_error_ = stated.status().message();
}

// Logs the models whose quota in the store differs from the configuration's. An operator who asks for the file to be
// read expects the file's quotas to apply, but other quotas may have been set in the store since.
void QuotaService::LogDifferences(const std::stop_token& stop) {
  const std::shared_ptr<const QuotaConfig> config = limiter_.config();
  for (const auto& [model, quota] : config->quotas) {
    if (stop.stop_requested()) return;
    const Result<ModelStats> stats = limiter_.Stats(model);
    if (!stats.ok()) return;
    const ModelQuota holds = stats.value().quota.value_or(ModelQuota{});
    if (holds == quota) continue;
    spdlog::warn(
        "{}: max_rpm {}, max_tpm {}, max_rpd {} apply: they were set after the file was read; the file says {}, {}, {}",
        model, holds.max_rpm, holds.max_tpm, holds.max_rpd, quota.max_rpm, quota.max_tpm, quota.max_rpd);
  }
}

void QuotaService::Run(const std::stop_token& stop) {
  auto upkeep_at = std::chrono::steady_clock::now();
  while (true) {
    if (std::chrono::steady_clock::now() >= upkeep_at) {
      store_->Prune();
      upkeep_at = std::chrono::steady_clock::now() + settings_.upkeep_interval;
    }
    const bool asked = AwaitLook(stop);
    if (stop.stop_requested()) return;
    if (asked) {
      Reload();
    } else if (!settings_.config_file.empty() && file_.Look()) {
      ReadConfig();
    }
    if (stop.stop_requested()) return;
    LogStated(limiter_.StateQuotas());
    if (asked) LogDifferences(stop);
    store_log_.Look(store_->Health(), Clock::System().Now());
    if (stop.stop_requested()) return;
  }
}

// Waits for the time between two looks at the file. Returns true at once if ReloadSoon was called. Logs failures of the
// store meanwhile.
bool QuotaService::AwaitLook(const std::stop_token& stop) {
  const auto due = std::chrono::steady_clock::now() + settings_.watch_interval;
  std::unique_lock lock(mutex_);
  while (changed_.wait_until(lock, stop, due, [this] { return reload_wanted_ || store_failed_; }) &&
         std::exchange(store_failed_, false)) {
    lock.unlock();
    store_log_.Look(store_->Health(), Clock::System().Now());
    lock.lock();
  }
  return std::exchange(reload_wanted_, false);
}

void QuotaService::Wake(bool* why) {
  const std::lock_guard lock(mutex_);
  *why = true;
  changed_.notify_all();
}

void QuotaService::Stop() {
  if (std::exchange(stopped_, true)) return;
  waiting_.BeginStop();
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  waiting_.Stop();
  calls_.AwaitEnd();
  if (const Status status = store_->Persist(); !status.ok())
    spdlog::error("what the quotas have counted may be lost: {}", status.message());
}

Result<std::unique_ptr<QuotaService>> QuotaService::Open(const QuotaSettings& settings, Tracer* tracer) {
  FileWatch file(settings.config_file);
  bool has_section = false;
  Result<QuotaConfig> config = QuotaConfig();
  // If the file changes during this reading, the service's thread reads it again.
  std::vector<std::string> warnings;
  file.ReadWhole([&] { config = ReadQuotaConfig(settings, &has_section, &warnings); });
  if (!config.ok()) return config.status();
  Result<std::unique_ptr<QuotaStore>> store = OpenQuotaStore(settings.store);
  if (!store.ok()) return store.status();
  spdlog::info("quotas: kept in {}; {}; {}", store.value()->name(),
               settings.config_file.empty() ? "no configuration file" : "configuration " + settings.config_file,
               DescribeConfig(config.value()));
  for (const std::string& warning : warnings) spdlog::warn("{}", warning);
  std::unique_ptr<QuotaService> service(new QuotaService(settings, std::move(store).value(), config.value(), tracer));
  service->file_ = std::move(file);
  service->has_section_ = has_section;
  service->LogStated(service->limiter_.StateQuotas());
  service->thread_ = std::jthread([s = service.get()](const std::stop_token& stop) { s->Run(stop); });
  return service;
}

void QuotaService::AddRoutes(HttpRouter& router, const QuotaSettings& settings, const Refusal& refusal,
                             const std::function<QuotaService&()>& service) {
  if (settings.api == ServedQuotaApi::kOff) return;
  for (const QuotaRoute& route : QuotaApi::Routes()) {
    const bool for_admins = route.for_admins || settings.api == ServedQuotaApi::kAdmins;
    router.AddDeferred(std::string(route.method), std::string(route.path),
                       [service, &route, refusal, for_admins](const HttpRequest& request, HttpReply reply) {
                         if (IsChangeByAnotherSite(request)) return reply(RefusalOfAnotherSite());
                         if (for_admins)
                           if (auto refused = refusal(request)) return reply(*std::move(refused));
                         const bool by_operator =
                             for_admins || (route.call == QuotaRoute::Call::kHealth && !refusal(request));
                         service().Answer(route, request, std::move(reply),
                                          by_operator ? QuotaAudience::kOperator : QuotaAudience::kStrangers);
                       });
  }
  AddQuotaGrpc(router, settings.api == ServedQuotaApi::kAdmins ? refusal : nullptr, service);
}

void QuotaService::AppendMetrics(MetricFamilies& families) const { metrics_.AppendTo(families, store_->Health()); }

void QuotaService::AppendLive(LiveTables& tables) const { metrics_.AppendLive(tables, store_->Health()); }

Status QuotaService::Ready(std::string* note) const { return CanDecide(store_->Health(), *limiter_.config(), note); }

std::chrono::milliseconds QuotaService::longest_call() const {
  return store_->pace() == QuotaStore::Pace::kBlocks ? kLongestBlockingCall : std::chrono::milliseconds(0);
}

bool QuotaService::all_is_in_store() const { return store_->pace() != QuotaStore::Pace::kAtOnce; }

void QuotaService::ReloadSoon() { Wake(&reload_wanted_); }

}  // namespace weir
