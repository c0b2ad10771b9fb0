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
  FileWatch file(config_file_);
  Result<KeyedRulesRead> read = KeyedRulesRead();
  // Where it changes meanwhile, the watch reads it again.
  file.ReadWhole([&] { read = ReadKeyedRules(config_file_); });
  if (!read.ok()) return read.status();
  has_section_ = read.value().has_section;
  limiter_ = std::make_unique<KeyedLimiter>(KeyedConfig{.rules = read.value().rules,
                                                        .overrides = settings_.overrides,
                                                        .max_keys = settings_.max_keys,
                                                        .max_waiting = settings_.max_waiting,
                                                        .shards = settings_.shards});
  api_.emplace(*limiter_, metrics_);
  spdlog::info("keyed: {}", read.value().summary);
  if (!config_file_.empty()) {
    watch_ = std::make_unique<ConfigWatch>(std::move(file), settings_.watch_interval, [this] { return ReadAgain(); });
  }
  return Status();
}

// What is to be done with what the file says now.
std::function<void()> KeyedService::ReadAgain() {
  Result<KeyedRulesRead> read = ReadKeyedRules(config_file_);
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

void KeyedService::AppendMetrics(MetricFamilies& families) const { metrics_.AppendTo(families, limiter_->Counts()); }

void KeyedService::ReloadSoon() {
  if (watch_ != nullptr) return watch_->ReadSoon();
  spdlog::info("there is no configuration of keys to read again: WEIR_CONFIG is not set");
}

void KeyedService::Stop() {
  watch_.reset();
  limiter_->Close();
}

}  // namespace weir
