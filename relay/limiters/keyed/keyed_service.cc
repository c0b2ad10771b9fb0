#include "relay/limiters/keyed/keyed_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "config/text/parse.h"
#include "config/text/readable.h"
#include "relay/admin/other_site.h"
#include "relay/net/http_error.h"

namespace weir {
namespace {

// The live page shows the busiest of this many keys, because sorting a million keys each second would be too slow.
constexpr size_t kMostLooked = 500;

}  // namespace

void KeyedService::AddRoutes(HttpRouter& router, const Refusal& refusal) {
  for (const KeyedRoute& route : KeyedApi::Routes()) {
    const bool for_admins = settings_.api == ServedKeyedApi::kAdmins || (route.shows && settings_.debug_for_admins);
    router.AddDeferred(std::string(route.method), std::string(route.path),
                       [this, &route, refusal, for_admins](const HttpRequest& request, HttpReply reply) {
                         // A GET of /rate charges too, so it is checked like a POST.
                         if (!route.shows && IsByAnotherSite(request))
                           return reply(KeyedApi::Correlated(request, RefusalOfAnotherSite()));
                         if (for_admins)
                           if (auto refused = refusal(request))
                             return reply(KeyedApi::Correlated(request, PlainErrorAsJson(*std::move(refused))));
                         api_->Answer(route.call, request, std::move(reply));
                       });
  }
}

Status KeyedService::Open(Tracer* /*tracer*/) {
  if (Status status = CheckKeyedStoreName(settings_.store); !status.ok()) return status;
  return rules_.Open();
}

FollowedRules<KeyedRulesRead> KeyedService::Follow(std::string config_file) {
  FileWatch file(config_file);
  return {std::move(file),
          settings_.watch_interval,
          {.limiter = "keyed",
           .path = config_file,
           .read =
               [this, config_file](const KeyedRulesRead* running) {
                 return ReadKeyedRules(config_file, SharesKeys(settings_), running);
               },
           .use =
               [this](const KeyedRulesRead& read) {
                 Use(read);
                 return Status();
               },
           .note_again = [this](bool good) { metrics_.OnConfigRead(good); }}};
}

void KeyedService::Use(const KeyedRulesRead& read) {
  for (const std::string& warning : read.warnings) spdlog::warn("keyed: {}", warning);
  if (limiter_ != nullptr) return limiter_->SetRules(read.rules);
  limiter_ = std::make_unique<KeyedLimiter>(KeyedConfig{.rules = read.rules,
                                                        .overrides = settings_.overrides,
                                                        .max_keys = settings_.max_keys,
                                                        .max_waiting = settings_.max_waiting,
                                                        .shards = settings_.shards,
                                                        .when_away = settings_.when_store_away},
                                            OpenStore());
  api_.emplace(*limiter_, metrics_);
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
               AsText(problem), line->Suffix());
}

Status KeyedService::Ready(std::string* note) const {
  const std::optional<SharedWindowsHealth> health = limiter_->SharedHealth();
  if (!health || health->answers) return {};
  std::string away = "keyed: the store is away (the log tells why)";
  if (settings_.when_store_away == WhenAway::kRefuse) return Status::Error(std::move(away));
  if (note->empty()) *note = std::move(away);
  return {};
}

void KeyedService::AppendMetrics(MetricFamilies& families) const {
  metrics_.AppendTo(families, limiter_->Counts(), limiter_->SharedHealth());
}

void KeyedService::AppendLive(LiveTables& tables) const {
  std::vector<KeyState> states =
      latest_.Ask([this](LatestStates<KeyState>::Done done) { limiter_->DescribeAll(kMostLooked, std::move(done)); });
  std::ranges::sort(states, std::greater<>(),
                    [](const KeyState& s) { return std::tuple(s.waiting, s.refused, s.used); });
  const KeyedCounts counts = limiter_->Counts();
  const auto health = limiter_->SharedHealth();
  LiveTable& table = tables.Add(
      "keys", "Limits by key" + (health && !health->answers ? ": the store is away, " + AsText(health->problem) : ""),
      {{"key"}, {"used", true}, {"waiting", true}, {"refused", true}});
  if (states.size() > LiveTable::kMostRows) states.resize(LiveTable::kMostRows);
  for (const KeyState& s : states)
    table.AddRow({Printable(s.key), std::to_string(s.used) + " of " + std::to_string(s.limits.max_requests),
                  std::to_string(s.waiting), ShortNumber(s.refused)});
  table.left_out = counts.keys - std::min<uint64_t>(counts.keys, table.rows.size());
}

void KeyedService::ReloadSoon() { rules_.ReadSoon(); }

void KeyedService::Stop() {
  rules_.Stop();
  limiter_->Close();
}

}  // namespace weir
