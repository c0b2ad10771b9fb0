#include "relay/limiters/envoy/envoy_service.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "relay/limiters/api_errors.h"
#include "relay/limiters/envoy/envoy_rules.h"

namespace weir {
namespace {

void LogWarnings(const EnvoyRulesRead& read) {
  for (const std::string& warning : read.warnings) spdlog::warn("ratelimit: {}", warning);
}

}  // namespace

void EnvoyService::AddRoutes(HttpRouter& router, const Refusal& refusal) {
  AddEnvoyGrpc(router, refusal, settings_.api == ServedEnvoyApi::kAdmins, [this]() -> EnvoyApi& { return *api_; });
  for (const EnvoyRoute& route : EnvoyApi::Routes()) {
    router.AddWording(std::string(route.path), PlainErrorAsJson);
    const bool for_admins = settings_.api == ServedEnvoyApi::kAdmins || (route.shows && settings_.debug_for_admins);
    router.AddDeferred(std::string(route.method), std::string(route.path),
                       [this, &route, refusal, for_admins](const HttpRequest& request, HttpReply reply) {
                         if (IsChangeByAnotherSite(request)) return reply(RefusalOfAnotherSite());
                         if (for_admins)
                           if (auto refused = refusal(request)) return reply(PlainErrorAsJson(*std::move(refused)));
                         api_->Answer(route, request, std::move(reply));
                       });
  }
}

Status EnvoyService::Open() {
  FileWatch files([directory = settings_.rules_directory] { return EnvoyRuleFiles(directory); });
  Result<EnvoyRulesRead> read = EnvoyRulesRead();
  // Where they change meanwhile, the watch reads them again.
  files.ReadWhole([&] { read = ReadEnvoyRules(settings_.rules_directory); });
  if (!read.ok()) return read.status();
  limiter_ = std::make_unique<DescriptorLimiter>(DescriptorConfig{.rules = read.value().rules,
                                                                  .shadow = settings_.shadow,
                                                                  .max_bytes = settings_.max_mib << 20,
                                                                  .shards = settings_.shards});
  api_.emplace(*limiter_, metrics_, settings_.response_headers);
  spdlog::info("ratelimit: {} in {}", read.value().summary, settings_.rules_directory);
  LogWarnings(read.value());
  watch_ = std::make_unique<ConfigWatch>(std::move(files), settings_.watch_interval, [this] { return ReadAgain(); });
  return Status();
}

// What is to be done with what the files say now.
std::function<void()> EnvoyService::ReadAgain() {
  Result<EnvoyRulesRead> read = ReadEnvoyRules(settings_.rules_directory, limiter_->rules().get());
  return [this, read = std::move(read)] {
    if (read.ok()) {
      limiter_->SetRules(read.value().rules);
      spdlog::info("{} was read: ratelimit: {}", settings_.rules_directory, read.value().summary);
      LogWarnings(read.value());
    } else {
      spdlog::error("Envoy's rate limits stay as they were: {}", read.status().message());
    }
    metrics_.OnConfigRead(read.ok());
  };
}

void EnvoyService::AppendMetrics(MetricFamilies& families) const { metrics_.AppendTo(families, *limiter_); }

void EnvoyService::ReloadSoon() { watch_->ReadSoon(); }

void EnvoyService::Stop() { watch_.reset(); }

}  // namespace weir
