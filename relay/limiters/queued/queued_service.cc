#include "relay/limiters/queued/queued_service.h"

#include <spdlog/spdlog.h>

#include "config/text/utf8.h"
#include "relay/limiters/api_errors.h"

namespace weir {

void QueuedService::AddRoutes(HttpRouter& router, const Refusal& refusal) {
  const auto refused = [refusal](const HttpRequest& request, bool for_admins) -> std::optional<HttpResponse> {
    auto answer = for_admins ? refusal(request) : std::nullopt;
    return answer ? std::optional(PlainErrorAsJson(*std::move(answer))) : std::nullopt;
  };
  const bool all_for_admins = settings_.api == ServedQueuedApi::kAdmins;
  router.AddForOtherPaths([this](std::string_view path) { return Serves(path); },
                          [this, refused, all_for_admins](const HttpRequest& request, HttpReply reply) {
                            // A GET has its turn too.
                            if (IsByAnotherSite(request)) return reply(RefusalOfAnotherSite());
                            if (auto answer = refused(request, all_for_admins)) return reply(*std::move(answer));
                            api_->Take(request, std::move(reply));
                          });
  const bool debug_for_admins = all_for_admins || settings_.debug_for_admins;
  router.AddDeferred("GET", "/debug/endpoints",
                     [this, refused, debug_for_admins](const HttpRequest& request, HttpReply reply) {
                       if (auto answer = refused(request, debug_for_admins)) return reply(*std::move(answer));
                       api_->ShowAll(std::move(reply));
                     });
}

bool QueuedService::Serves(std::string_view path) const {
  std::shared_ptr<const QueuedRules> rules;
  {
    const std::lock_guard lock(mutex_);
    rules = rules_;
  }
  return rules != nullptr && rules->Nearest(CanonicalPath(path)) != nullptr && IsUtf8(path);
}

Status QueuedService::Open() {
  FileWatch file(config_file_);
  Result<QueuedRulesRead> read = QueuedRulesRead();
  // Where it changes meanwhile, the watch reads it again.
  file.ReadWhole([&] { read = ReadQueuedRules(config_file_); });
  if (!read.ok()) return read.status();
  has_section_ = read.value().has_section;
  limiter_ = std::make_unique<QueuedLimiter>(QueuedConfig{.rules = read.value().rules,
                                                          .max_waiting = settings_.max_waiting,
                                                          .idle_after = settings_.idle_after,
                                                          .shards = settings_.shards});
  api_.emplace(*limiter_, metrics_);
  Follow(read.value().rules);
  if (!config_file_.empty())
    watch_ = std::make_unique<ConfigWatch>(std::move(file), settings_.watch_interval, [this] { return ReadAgain(); });
  return Status();
}

void QueuedService::Follow(const std::shared_ptr<const QueuedRules>& rules) {
  const std::lock_guard lock(mutex_);
  rules_ = rules;
  spdlog::info("endpoints: {} are configured", rules->configs().size());
}

// What is to be done with what the file says now.
std::function<void()> QueuedService::ReadAgain() {
  Result<QueuedRulesRead> read = ReadQueuedRules(config_file_);
  // Emptied, or written as far as its first lines: everybody who waits would be sent away.
  if (read.ok() && has_section_ && !read.value().has_section)
    read = Result<QueuedRulesRead>(
        Status::Error(config_file_ + " has no endpoints: any more; say `endpoints: []` if there is to be none"));
  return [this, read = std::move(read)] {
    if (read.ok()) {
      has_section_ = read.value().has_section;
      limiter_->SetRules(read.value().rules);
      Follow(read.value().rules);
    } else {
      spdlog::error("the endpoints stay as they were: {}", read.status().message());
    }
    metrics_.OnConfigRead(read.ok());
  };
}

void QueuedService::AppendMetrics(MetricFamilies& families) const { metrics_.AppendTo(families, limiter_->Counts()); }

void QueuedService::ReloadSoon() {
  if (watch_ != nullptr) return watch_->ReadSoon();
  spdlog::info("there is no configuration of endpoints to read again: WEIR_CONFIG is not set");
}

void QueuedService::Stop() {
  watch_.reset();
  limiter_->Close();
}

}  // namespace weir
