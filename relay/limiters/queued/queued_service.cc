#include "relay/limiters/queued/queued_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "config/text/parse.h"
#include "config/text/readable.h"
#include "config/text/utf8.h"
#include "relay/admin/other_site.h"

namespace weir {

void QueuedService::AddRoutes(HttpRouter& router, const Refusal& refusal) {
  const auto refused = [refusal](const HttpRequest& request, bool for_admins) -> std::optional<HttpResponse> {
    return for_admins ? refusal(request) : std::nullopt;
  };
  is_own_path_ = router.OwnPaths();
  const bool all_for_admins = settings_.api == ServedQueuedApi::kAdmins;
  router.AddForOtherPaths([this](std::string_view path) { return Serves(path); },
                          [this, refused, all_for_admins](const HttpRequest& request, HttpReply reply) {
                            // A GET uses the endpoint's rate as a POST does, so both are checked.
                            if (IsByAnotherSite(request)) return reply(RefusalOfAnotherSite());
                            if (auto answer = refused(request, all_for_admins)) return reply(*std::move(answer));
                            api_->Take(request, std::move(reply));
                          });
  const bool debug_for_admins = all_for_admins || settings_.debug_for_admins;
  router.AddDeferred("GET", "/debug/endpoints",
                     [this, refused, debug_for_admins](const HttpRequest& request, HttpReply reply) {
                       if (auto answer = refused(request, debug_for_admins)) return reply(*std::move(answer));
                       api_->ShowPage(request, std::move(reply));
                     });
}

bool QueuedService::Serves(std::string_view path) const {
  std::shared_ptr<const QueuedRules> rules;
  {
    const MutexLock lock(mutex_);
    rules = rules_;
  }
  return rules != nullptr && rules->Nearest(CanonicalPath(path)) != nullptr && IsUtf8(path);
}

Status QueuedService::Open(Tracer* /*tracer*/) { return followed_.Open(); }

FollowedRules<QueuedRulesRead> QueuedService::Follow(std::string config_file) {
  FileWatch file(config_file);
  return {std::move(file),
          settings_.watch_interval,
          {.limiter = "endpoints",
           .path = config_file,
           .read = [this, config_file](
                       const QueuedRulesRead* running) { return ReadQueuedRules(config_file, running, is_own_path_); },
           .use =
               [this](const QueuedRulesRead& read) {
                 Use(read);
                 return Status();
               },
           .note_again = [this](bool good) { metrics_.OnConfigRead(good); }}};
}

void QueuedService::Use(const QueuedRulesRead& read) {
  if (read.has_server)
    spdlog::warn("endpoints: `server` of WEIR_CONFIG has no effect: set WEIR_LISTEN and WEIR_PORT, and remove it");
  if (limiter_ != nullptr) {
    limiter_->SetRules(read.rules);
  } else {
    limiter_ = std::make_unique<QueuedLimiter>(QueuedConfig{.rules = read.rules,
                                                            .max_waiting = settings_.max_waiting,
                                                            .idle_after = settings_.idle_after,
                                                            .shards = settings_.shards});
    api_.emplace(*limiter_, metrics_);
  }
  const MutexLock lock(mutex_);
  rules_ = read.rules;
}

void QueuedService::AppendMetrics(MetricFamilies& families) const { metrics_.AppendTo(families, limiter_->Counts()); }

void QueuedService::AppendLive(LiveTables& tables) const {
  std::vector<EndpointState> states =
      latest_.Ask([this](LatestStates<EndpointState>::Done done) { limiter_->DescribeAll(std::move(done)); });
  std::ranges::sort(states, std::greater<>(),
                    [](const EndpointState& s) { return std::tuple(s.queued + s.blocked, s.served); });
  LiveTable& table =
      tables.Add("endpoints", "Endpoints that queue",
                 {{"path"}, {"waiting", true}, {"room", true}, {"served a second", true}, {"rejected", true}});
  const size_t shown = std::min(states.size(), LiveTable::kMostRows);
  table.left_out = states.size() - shown;
  states.resize(shown);
  for (const EndpointState& s : states) {
    const double rate = tables.PerSecond("endpoint " + s.path, static_cast<double>(s.served));
    table.AddRow({Printable(s.path), std::to_string(s.queued + s.blocked), std::to_string(s.left),
                  ShortNumber(RoundedCount(rate)), ShortNumber(s.rejected)});
  }
}

void QueuedService::ReloadSoon() { followed_.ReadSoon(); }

void QueuedService::Stop() {
  followed_.Stop();
  limiter_->Close();
}

}  // namespace weir
