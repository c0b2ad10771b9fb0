#include "relay/limiters/quota/quota_service.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <string_view>
#include <utility>

#include "relay/admin/other_site.h"
#include "relay/limiters/quota/quota_grpc.h"

namespace weir {
namespace {

// The longest time that SQLite waits for a lock (busy_timeout).
constexpr std::chrono::seconds kLongestBlockingCall{5};

}  // namespace

QuotaService::QuotaService(QuotaSettings settings)
    : settings_(std::move(settings)),
      metrics_(Clock::System(),
               [this] {
                 const MutexLock lock(mutex_);
                 store_failed_ = true;
                 changed_.notify_all();
               }),
      rules_(Follow()) {}

QuotaService::~QuotaService() { Stop(); }

Status QuotaService::Open(Tracer* tracer) {
  tracer_ = tracer;
  if (Status status = rules_.Open(); !status.ok()) return status;
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  return Status();
}

FollowedRules<QuotaRulesRead> QuotaService::Follow() {
  return {FileWatch(settings_.config_file),
          settings_.watch_interval,
          {.limiter = "quotas",
           .path = settings_.config_file,
           .read = [this](const QuotaRulesRead* running) { return ReadQuotaRules(settings_, running); },
           .use = [this](const QuotaRulesRead& read) { return Use(read); },
           .note_again = [this](bool good) { metrics_.OnConfigRead(good); }}};
}

Status QuotaService::Use(const QuotaRulesRead& read) {
  for (const std::string& warning : read.warnings) spdlog::warn("{}", warning);
  if (limiter_) {
    LogStated(limiter_->Reconfigure(read.config));
    LogDifferences();
    return Status();
  }
  Result<std::unique_ptr<QuotaStore>> store = OpenQuotaStore(settings_.store);
  if (!store.ok()) return store.status();
  store_ = std::move(store).value();
  spdlog::info("quotas: kept in {}; {}", store_->name(),
               settings_.config_file.empty() ? "no configuration file" : "configuration " + settings_.config_file);
  limiter_.emplace(*store_, read.config, Clock::System(), &metrics_);
  api_.emplace(*limiter_, settings_.dialect);
  LogStated(limiter_->StateQuotas());
  return Status();
}

Span QuotaService::BeginSpan(QuotaRoute::Call call, const HttpRequest& request) const {
  const std::string_view name = tracer_ == nullptr ? "" : QuotaApi::RouteOf(call).span_name;
  return name.empty() ? Span() : tracer_->BeginServed(name, request.Header("traceparent"));
}

void QuotaService::Answer(const QuotaRoute& route, const HttpRequest& request, HttpReply reply,
                          QuotaAudience audience) {
  const auto model = [](const HttpRequest& r) {
    return r.parameters.empty() ? std::string_view() : std::string_view(r.parameters[0]);
  };
  const Span span = BeginSpan(route.call, request);
  if (api_->MayWait(route.call)) {
    return waiting_.Submit(request.address, std::move(reply),
                           [this, call = route.call, model, request, span, wait = span.Child("wait"),
                            audience](HttpReply waiting_reply) mutable {
                             wait.End();
                             api_->Answer({call, request, model(request), span, audience}, std::move(waiting_reply));
                           });
  }
  // A store that does not answer asynchronously answers within this call, so Stop does not have to wait for the call.
  if (store_->pace() != QuotaStore::Pace::kAsynchronous)
    return api_->Answer({route.call, request, model(request), span, audience}, std::move(reply));
  api_->Answer(
      {route.call, request, model(request), span, audience},
      [reply = std::move(reply), under_way = calls_.Begin()](HttpResponse answer) { reply(std::move(answer)); });
}

void QuotaService::Perform(QuotaRoute::Call call, const HttpRequest& request, HttpReply reply, WaitingCalls::Busy busy,
                           Make make) {
  Span span = BeginSpan(call, request);
  if (!api_->MayWait(call))
    return make(*limiter_, std::move(reply),
                store_->pace() == QuotaStore::Pace::kAsynchronous ? calls_.Begin() : nullptr, std::move(span));
  waiting_.Submit(
      request.address, std::move(reply),
      [this, make = std::move(make), span, wait = span.Child("wait")](HttpReply waiting_reply) mutable {
        wait.End();
        make(*limiter_, std::move(waiting_reply), nullptr, span);
      },
      std::move(busy));
}

// Logs the result of StateQuotas, which writes the configuration's quotas to the store. If it failed, the thread tries
// it again at the next look, and the same error is not logged again.
void QuotaService::LogStated(const Result<std::vector<std::string>>& stated) {
  const MutexLock lock(stating_mutex_);
  if (stated.ok()) {
    for (const std::string& warning : stated.value()) spdlog::warn("{}", warning);
  } else if (stated.status().message() != stating_error_) {
    spdlog::warn("the quotas of the configuration apply only here for now: {}", stated.status().message());
  }
  stating_error_ = stated.status().message();
}

// Logs the models whose quota in the store differs from the configuration's. An operator who changes the file expects
// its quotas to apply, but an administrator may have set other quotas in the store meanwhile.
void QuotaService::LogDifferences() {
  const std::shared_ptr<const QuotaConfig> config = limiter_->config();
  for (const auto& [model, quota] : config->quotas) {
    if (stopped_) return;
    const Result<ModelStats> stats = limiter_->Stats(model);
    if (!stats.ok()) return;
    const ModelQuota holds = stats.value().quota.value_or(ModelQuota{});
    if (holds == quota) continue;
    spdlog::warn(
        "{}: max_rpm {}, max_tpm {}, max_rpd {} apply: they were set after the file was read; the file says {}, {}, {}",
        model, holds.max_rpm, holds.max_tpm, holds.max_rpd, quota.max_rpm, quota.max_tpm, quota.max_rpd);
  }
}

void QuotaService::Run(const std::stop_token& stop) {
  using SteadyClock = std::chrono::steady_clock;
  StoreLog store_log(store_->name());
  SteadyClock::time_point upkeep_at{};
  SteadyClock::time_point state_at = SteadyClock::now() + settings_.watch_interval;
  while (!stop.stop_requested()) {
    if (SteadyClock::now() >= upkeep_at) {
      store_->Prune();
      upkeep_at = SteadyClock::now() + settings_.upkeep_interval;
    }
    {
      MutexLock lock(mutex_);
      changed_.wait_until(lock, stop, state_at, [this]() WEIR_REQUIRES(mutex_) { return store_failed_; });
      store_failed_ = false;
    }
    if (stop.stop_requested()) return;
    if (SteadyClock::now() >= state_at) {
      LogStated(limiter_->StateQuotas());
      state_at = SteadyClock::now() + settings_.watch_interval;
    }
    store_log.Look(store_->Health(), Clock::System().Now());
  }
}

void QuotaService::Stop() {
  if (stopped_.exchange(true)) return;
  waiting_.BeginStop();
  thread_.request_stop();
  rules_.Stop();
  if (thread_.joinable()) thread_.join();
  waiting_.Stop();
  calls_.AwaitEnd();
  if (store_ == nullptr) return;
  if (const Status status = store_->Persist(); !status.ok())
    spdlog::error("what the quotas have counted may be lost: {}", status.message());
}

void QuotaService::AddRoutes(HttpRouter& router, const Refusal& refusal) {
  if (settings_.api == ServedQuotaApi::kOff) return;
  for (const QuotaRoute& route : QuotaApi::Routes()) {
    const bool for_admins = route.for_admins || settings_.api == ServedQuotaApi::kAdmins;
    router.AddDeferred(
        std::string(route.method), std::string(route.path),
        [this, &route, refusal, for_admins](const HttpRequest& request, HttpReply reply) {
          if (IsChangeByAnotherSite(request)) return reply(RefusalOfAnotherSite());
          if (for_admins)
            if (auto refused = refusal(request)) return reply(*std::move(refused));
          const bool by_operator = for_admins || (route.call == QuotaRoute::Call::kHealth && !refusal(request));
          Answer(route, request, std::move(reply), by_operator ? QuotaAudience::kOperator : QuotaAudience::kStrangers);
        });
  }
  AddQuotaGrpc(router, settings_.api == ServedQuotaApi::kAdmins ? refusal : nullptr, *this);
}

std::string_view QuotaService::grpc_service() const { return kQuotaGrpcService; }

void QuotaService::AppendMetrics(MetricFamilies& families) const { metrics_.AppendTo(families, store_->Health()); }

void QuotaService::AppendLive(LiveTables& tables) const { metrics_.AppendLive(tables, store_->Health()); }

Status QuotaService::Ready(std::string* note) const { return CanDecide(store_->Health(), *limiter_->config(), note); }

std::chrono::milliseconds QuotaService::longest_call() const {
  return store_->pace() == QuotaStore::Pace::kBlocks ? kLongestBlockingCall : std::chrono::milliseconds(0);
}

}  // namespace weir
