#include "relay/limiters/envoy/envoy_service.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "relay/admin/other_site.h"
#include "relay/limiters/envoy/envoy_rules.h"

namespace weir {
namespace {

// The time for which /readyz reports that values had to share a counter, and in which the log reports it at most once.
constexpr std::chrono::minutes kTellsOfCrowd{1};

}  // namespace

void EnvoyService::AddRoutes(HttpRouter& router, const Refusal& refusal) {
  AddEnvoyGrpc(router, refusal, settings_.api == ServedEnvoyApi::kAdmins, [this]() -> EnvoyApi& { return *api_; });
  // All clients may use this route of envoyproxy/ratelimit, even if only administrators may use the others: it shows
  // only that the port answers.
  router.Add("GET", "/healthcheck", [](const HttpRequest&) { return HttpResponse{.body = "OK"}; });
  for (const EnvoyRoute& route : EnvoyApi::Routes()) {
    const bool for_admins = settings_.api == ServedEnvoyApi::kAdmins || (route.shows && settings_.debug_for_admins);
    router.AddDeferred(std::string(route.method), std::string(route.path),
                       [this, &route, refusal, for_admins](const HttpRequest& request, HttpReply reply) {
                         if (IsChangeByAnotherSite(request)) return reply(RefusalOfAnotherSite());
                         if (for_admins)
                           if (auto refused = refusal(request)) return reply(*std::move(refused));
                         api_->Answer(route, request, std::move(reply));
                       });
  }
}

Status EnvoyService::Open(Tracer* /*tracer*/) { return rules_.Open(); }

FollowedRules<EnvoyRulesRead> EnvoyService::Follow() {
  FileWatch files([directory = settings_.rules_directory] { return EnvoyRuleFiles(directory); });
  return {std::move(files),
          settings_.watch_interval,
          {.limiter = "ratelimit",
           .path = settings_.rules_directory,
           .read =
               [this](const EnvoyRulesRead* running) {
                 return ReadEnvoyRules(settings_.rules_directory, running == nullptr ? nullptr : running->rules.get());
               },
           .use =
               [this](const EnvoyRulesRead& read) {
                 Use(read);
                 return Status();
               },
           .note_again = [this](bool good) { metrics_.OnConfigRead(good); }}};
}

void EnvoyService::Use(const EnvoyRulesRead& read) {
  for (const std::string& warning : read.warnings) spdlog::warn("ratelimit: {}", warning);
  if (limiter_ != nullptr) return limiter_->SetRules(read.rules);
  limiter_ = std::make_unique<DescriptorLimiter>(
      DescriptorConfig{.rules = read.rules,
                       .shadow = settings_.shadow,
                       .max_bytes = settings_.max_mib << 20,
                       .shards = settings_.shards,
                       .on_crowded = [this](auto domain, auto rule) { OnCrowded(domain, rule); }});
  api_.emplace(*limiter_, metrics_, settings_.response_headers);
}

void EnvoyService::OnCrowded(std::string_view domain, std::string_view rule) {
  const TimePoint now = Clock::System().Now();
  crowded_at_.store(now, std::memory_order_relaxed);
  TimePoint warned_at = warned_at_.load(std::memory_order_relaxed);
  if (now < warned_at + kTellsOfCrowd || !warned_at_.compare_exchange_strong(warned_at, now)) return;
  spdlog::warn(
      "ratelimit: {}: {} is asked for more values than WEIR_RATELIMIT_MAX_MIB ({}) has room for: some count "
      "together, and new ones are refused sooner than their limit; raise it, or see who sends so many",
      domain, rule, settings_.max_mib);
}

Status EnvoyService::Ready(std::string* note) const {
  if (Clock::System().Now() < crowded_at_.load(std::memory_order_relaxed) + kTellsOfCrowd && note->empty())
    *note = "ratelimit: more values are asked for than WEIR_RATELIMIT_MAX_MIB has room for; the log says of which rule";
  return Status();
}

void EnvoyService::AppendMetrics(MetricFamilies& families) const { metrics_.AppendTo(families, *limiter_); }

void EnvoyService::ReloadSoon() { rules_.ReadSoon(); }

void EnvoyService::Stop() { rules_.Stop(); }

}  // namespace weir
