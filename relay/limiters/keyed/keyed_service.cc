#include "relay/limiters/keyed/keyed_service.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "relay/limiters/api_errors.h"

namespace weir {

void KeyedService::AddRoutes(HttpRouter& router, const Refusal& refusal) {
  router.AddWording("/rate/", PlainErrorAsJson);
  router.AddWording("/debug", PlainErrorAsJson);
  for (const KeyedRoute& route : KeyedApi::Routes()) {
    const bool for_admins = settings_.api == ServedKeyedApi::kAdmins || (route.shows && settings_.debug_for_admins);
    router.AddDeferred(std::string(route.method), std::string(route.path),
                       [this, &route, refusal, for_admins](const HttpRequest& request, HttpReply reply) {
                         // A GET of /rate charges too.
                         if (!route.shows && IsByAnotherSite(request))
                           return reply(KeyedApi::Correlated(request, RefusalOfAnotherSite()));
                         if (for_admins)
                           if (auto refused = refusal(request))
                             return reply(KeyedApi::Correlated(request, PlainErrorAsJson(*std::move(refused))));
                         api_->Answer(route.call, request, std::move(reply));
                       });
  }
}

Status KeyedService::Open() {
  if (Status status = CheckKeyedStoreName(settings_.store); !status.ok()) return status;
  FileWatch file(config_file_);
  Result<KeyedRulesRead> read = KeyedRulesRead();
  // Where it changes meanwhile, the watch reads it again.
  file.ReadWhole([&] { read = ReadKeyedRules(config_file_, SharesKeys(settings_)); });
  if (!read.ok()) return read.status();
  has_section_ = read.value().has_section;
  limiter_ = std::make_unique<KeyedLimiter>(KeyedConfig{.rules = read.value().rules,
                                                        .overrides = settings_.overrides,
                                                        .max_keys = settings_.max_keys,
                                                        .max_waiting = settings_.max_waiting,
                                                        .shards = settings_.shards,
                                                        .when_away = settings_.when_store_away},
                                            OpenStore());
  api_.emplace(*limiter_, metrics_);
  spdlog::info("keyed: {}", read.value().summary);
  if (!config_file_.empty()) {
    watch_ = std::make_unique<ConfigWatch>(std::move(file), settings_.watch_interval, [this] { return ReadAgain(); });
  }
  return Status();
}

std::unique_ptr<SharedWindows> KeyedService::OpenStore() {
  if (!SharesKeys(settings_)) return nullptr;
  spdlog::info("keyed: windows are shared through {}", WithoutPassword(settings_.store));
  return std::make_unique<RedisSharedWindows>(
      ParseRedisUrl(settings_.store).value(),
      RedisSharedWindowsOptions{.prefix = settings_.redis_prefix,
                                .client = settings_.redis,
                                .on_change = [this](const std::string& problem) { LogStore(problem); }});
}

void KeyedService::LogStore(const std::string& problem) {
  const auto line = store_log_.Take(std::chrono::steady_clock::now());
  if (!line) return;
  if (problem.empty()) return spdlog::info("keyed: the store answers again{}", line->Suffix());
  spdlog::warn("keyed: the store is away, {}: {}{}",
               settings_.when_store_away == WhenAway::kAlone
                   ? "and until it is back each process lets a key's limit through by itself"
                   : "and until it is back requests of keys are refused",
               OneLine(problem), line->Suffix());
}

Status KeyedService::Ready(std::string* note) const {
  const std::optional<SharedWindowsHealth> health = limiter_->SharedHealth();
  if (!health || health->answers) return {};
  std::string away = "keyed: the store is away: " + health->problem;
  if (settings_.when_store_away == WhenAway::kRefuse) return Status::Error(std::move(away));
  if (note->empty()) *note = std::move(away);
  return {};
}

// What is to be done with what the file says now.
std::function<void()> KeyedService::ReadAgain() {
  Result<KeyedRulesRead> read = ReadKeyedRules(config_file_, SharesKeys(settings_));
  // Emptied, or written as far as its first lines: everybody's limits would go.
  if (read.ok() && has_section_ && !read.value().has_section)
    read = Result<KeyedRulesRead>(
        Status::Error(config_file_ + " has no keyed: any more; say `keyed: {}` if the defaults are to hold"));
  return [this, read = std::move(read)] {
    if (read.ok()) {
      has_section_ = read.value().has_section;
      limiter_->SetRules(read.value().rules);
      spdlog::info("{} was read: keyed: {}", config_file_, read.value().summary);
    } else {
      spdlog::error("the keys' limits stay as they were: {}", read.status().message());
    }
    metrics_.OnConfigRead(read.ok());
  };
}

void KeyedService::AppendMetrics(MetricFamilies& families) const {
  metrics_.AppendTo(families, limiter_->Counts(), limiter_->SharedHealth());
}

void KeyedService::ReloadSoon() {
  if (watch_ != nullptr) return watch_->ReadSoon();
  spdlog::info("there is no configuration of keys to read again: WEIR_CONFIG is not set");
}

void KeyedService::Stop() {
  watch_.reset();
  limiter_->Close();
}

}  // namespace weir
