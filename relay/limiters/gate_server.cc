#include "relay/limiters/gate_server.h"

#include <prometheus/text_serializer.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "config/clock.h"
#include "relay/net/grpc/grpc_health.h"
#include "relay/net/grpc/grpc_reflection.h"
#include "relay/net/health_routes.h"
#include "relay/net/host_names.h"
#include "relay/observe/metrics/state_page.h"
#include "relay/process/version.h"

namespace weir {
namespace {

constexpr std::string_view kHelp = R"(weir gate: may this request go now?

To this model, by its quotas:

  curl -X POST localhost:3335/v1/decide  -d '{"model":"gpt-4o","tokens":900}'
  curl -X POST localhost:3335/v1/reserve -d '{"model":"gpt-4o","tokens":900}'
  curl -X POST localhost:3335/v1/commit  -d '{"reservation":"…","prompt_tokens":800,"output_tokens":300}'
  curl         localhost:3335/v1/models

Also /v1/refund, /v1/record, /v1/explain, /v1/models/{model}, PUT /v1/models/{model}/quota and
DELETE /v1/models/{model}/state, DELETE /v1/state (administrators).

Limit the requests of a key in a window:

  curl         localhost:3335/rate/user-123
  curl         'localhost:3335/rate/user-123?canWait'
  curl -X DELETE localhost:3335/rate/user-123/ID

Also /debug and /debug/{key}.

Paths of your own, whose requests wait for their turn: the endpoints of WEIR_CONFIG. Also /debug/endpoints.

Envoy's rate limits, by the files of envoyproxy/ratelimit in WEIR_RATELIMIT_CONFIG:

  curl -X POST localhost:3335/json -d '{"domain":"edge","descriptors":[{"entries":[{"key":"remote_address","value":"10.0.0.1"}]}]}'

Also /debug/ratelimit and /healthcheck.

/v1/openapi.json describes every call. By gRPC: weir.v1.Quota, envoy.service.ratelimit.v3.RateLimitService,
grpc.health.v1.Health; grpcurl lists them by reflection. Also /v1/health, /metrics, /healthz, /readyz.
)";

}  // namespace

void Declare(SettingTable& table, GateConfiguration& c) {
  Declare(table, c.log_level, c.log_format);
  Declare(table, c.server);
  Declare(table, c.limiters);
  Declare(table, c.admin);
  Declare(table, c.admin_from_loopback);
  Declare(table, c.trace);
}

GateServer::GateServer(const GateConfiguration& configuration, std::unique_ptr<Traces> traces, ServedLimiters limiters)
    : listen_(configuration.server.listen),
      traces_(std::move(traces)),
      limiters_(std::move(limiters)),
      admin_(configuration.admin.admin_token, TrustInLoopback(configuration.admin_from_loopback)),
      started_at_(ToSeconds(WallClock::System().Now().time_since_epoch())),
      server_(configuration.server, Routes(), nullptr) {}

Result<std::unique_ptr<GateServer>> GateServer::Open(const GateConfiguration& configuration) {
  ServedLimiters limiters = MakeLimiters(configuration.limiters);
  Result<std::unique_ptr<Traces>> opened = Traces::Open(configuration.trace);
  if (!opened.ok()) return opened.status();
  std::unique_ptr<GateServer> server(new GateServer(configuration, std::move(opened).value(), std::move(limiters)));
  Status status = OpenAll(server->limiters_, Traces::TracerOf(server->traces_));
  if (!status.ok()) return status;
  server->open_ = true;
  if (status = server->server_.Listen(); !status.ok()) return status;
  const LoopbackTrust trust = TrustInLoopback(configuration.admin_from_loopback);
  spdlog::info("administrators: requests from this machine are {} ({}); {}", trust.trusted ? "trusted" : "not trusted",
               trust.why,
               configuration.admin.admin_token.empty() ? "no request can show a token: WEIR_ADMIN_TOKEN is not set"
                                                       : "requests with the token of WEIR_ADMIN_TOKEN are trusted");
  return server;
}

HttpRouter GateServer::Routes() {
  HttpRouter router;
  for (const auto& limiter : limiters_)
    limiter->AddRoutes(router, [this](const HttpRequest& request) { return admin_.Refusal(request); });
  router.Add("GET", "/", [](const HttpRequest&) { return HttpResponse{.body = std::string(kHelp)}; });
  router.Add("GET", "/metrics", [this](const HttpRequest&) {
    return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                        .body = metrics_text_.Get(Clock::System().Now(), [this] { return Metrics(); })};
  });
  AddHealthRoutes(router, [this](std::string* note) { return Ready(note); });
  AddGrpcHealth(router, [this](std::string_view service) { return Serving(service); });
  std::vector<std::string> services = {"grpc.health.v1.Health"};
  for (const auto& limiter : limiters_)
    if (!limiter->grpc_service().empty()) services.emplace_back(limiter->grpc_service());
  AddGrpcReflection(router, std::move(services));
  return router;
}

Status GateServer::Ready(std::string* note) const {
  for (const auto& limiter : limiters_)
    if (Status status = limiter->Ready(note); !status.ok()) return status;
  return Status();
}

std::optional<bool> GateServer::Serving(std::string_view grpc_service) const {
  std::string note;
  if (grpc_service.empty()) return Ready(&note).ok();
  for (const auto& limiter : limiters_)
    if (limiter->grpc_service() == grpc_service || limiter->health_name() == grpc_service)
      return limiter->Ready(&note).ok();
  return std::nullopt;
}

std::string GateServer::Metrics() const {
  MetricFamilies families;
  families.Gauge("weir_build_info", "1, with the version of the program as label").Add(1.0, {{"version", Version()}});
  AppendService(Sources(), families);
  AppendProcess(started_at_, families);
  return prometheus::TextSerializer().Serialize(std::move(families).Take());
}

ServiceSources GateServer::Sources() const {
  ServiceSources sources;
  sources.ready = [this] {
    std::string note;
    return Ready(&note).ok();
  };
  sources.server = [this] { return server_.Stats(); };
  sources.traces = traces_.get();
  sources.plugins = [this](MetricFamilies& families) {
    for (const auto& limiter : limiters_) limiter->AppendMetrics(families);
  };
  return sources;
}

void GateServer::TellState() const {
  StateOccasion occasion{.why = "asked for by SIGUSR1", .started_at = started_at_};
  occasion.ready = Ready(&occasion.note);
  StatePage page(occasion);
  const ServiceSources sources = Sources();
  page.AddServer(sources.server());
  page.AddPlugins(sources.plugins);
  LogAsked(std::move(page).Text());
}

void GateServer::Reload() {
  server_.ReloadCertificate();
  for (const auto& limiter : limiters_) limiter->ReloadSoon();
}

std::string GateServer::url() const { return (server_.speaks_tls() ? "https://" : "http://") + host_and_port(); }

bool GateServer::all_is_in_store() const {
  return std::ranges::all_of(limiters_, [](const auto& limiter) { return limiter->all_is_in_store(); });
}

std::string GateServer::host_and_port() const { return HostAndPort(listen_, server_.port()); }

void GateServer::Shutdown(std::chrono::milliseconds longest) {
  if (!open_) return;
  std::chrono::milliseconds longest_call{};
  for (const auto& limiter : limiters_) longest_call = std::max(longest_call, limiter->longest_call());
  server_.Shutdown(std::max(std::chrono::milliseconds(0), longest - longest_call));
  for (const auto& limiter : limiters_) limiter->Stop();
}

}  // namespace weir
