#include "relay/limiters/gate_server.h"

#include <prometheus/text_serializer.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
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

// In the parts of the page, this stands for the address of the gate.
constexpr std::string_view kAddress = "{gate}";

constexpr std::string_view kQuotaHelp = R"(
To this model, by its quotas:

  curl -X POST '{gate}/v1/decide'  -d '{"model":"gpt-4o","tokens":900}'
  curl -X POST '{gate}/v1/reserve' -d '{"model":"gpt-4o","tokens":900}'
  curl -X POST '{gate}/v1/commit'  -d '{"reservation":"…","prompt_tokens":800,"output_tokens":300}'
  curl         '{gate}/v1/models'

Also /v1/refund, /v1/record, /v1/explain, /v1/models/{model}, PUT /v1/models/{model}/quota and
DELETE /v1/models/{model}/state, DELETE /v1/state (administrators). Also /v1/health. /v1/openapi.json describes every
call of the gate.
)";

constexpr std::string_view kKeyedHelp = R"(
Limit the requests of a key in a window:

  curl         '{gate}/rate/user-123'
  curl         '{gate}/rate/user-123?canWait'
  curl -X DELETE '{gate}/rate/user-123/ID'

Also /debug and /debug/{key}.
)";

constexpr std::string_view kQueuedHelp = R"(
Paths of your own, whose requests wait for their turn: the endpoints of WEIR_CONFIG. Also /debug/endpoints.
)";

constexpr std::string_view kEnvoyHelp = R"(
Envoy's rate limits, by the files of envoyproxy/ratelimit in WEIR_RATELIMIT_CONFIG:

  curl -X POST '{gate}/json' -d '{"domain":"edge","descriptors":[{"entries":[{"key":"remote_address","value":"10.0.0.1"}]}]}'

Also /debug/ratelimit and /healthcheck.
)";

std::string HelpFor(const ServedLimiterSettings& s, const ServedLimiters& limiters) {
  std::string help = "weir gate: may this request go now?\n";
  help += s.quota.api != ServedQuotaApi::kOff ? kQuotaHelp : "\nQuotas are not served: WEIR_QUOTA_API is off.\n";
  help += s.keyed.api != ServedKeyedApi::kOff ? kKeyedHelp : "\nLimits by key are not served: WEIR_KEYED_API is off.\n";
  help += s.queued.api != ServedQueuedApi::kOff ? kQueuedHelp : "\nEndpoints are not served: WEIR_QUEUED_API is off.\n";
  if (s.envoy.api == ServedEnvoyApi::kOff) {
    help += "\nEnvoy's rate limits are not served: WEIR_RATELIMIT_API is off.\n";
  } else {
    help += !s.envoy.rules_directory.empty()
                ? kEnvoyHelp
                : "\nEnvoy's rate limits are not served: WEIR_RATELIMIT_CONFIG is not set.\n";
  }
  help += "\nBy gRPC: ";
  for (const auto& limiter : limiters)
    if (!limiter->grpc_service().empty()) help.append(limiter->grpc_service()).append(", ");
  return help + "grpc.health.v1.Health; grpcurl lists them by reflection.\nAlso /metrics, /healthz, /readyz.\n";
}

// Returns the page with the address by which the client reached the gate, or with `otherwise` if the Host header has
// characters that no address needs, because readers paste the commands into a shell.
std::string WithAddress(std::string_view help, const HttpRequest& request, const std::string& otherwise) {
  const std::string_view host = request.Header("host");
  const bool is_plain = !host.empty() && std::ranges::all_of(host, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view(".-_:[]").find(static_cast<char>(c)) != std::string_view::npos;
  });
  const std::string address = (CameByTls(request) ? "https://" : "") + (is_plain ? std::string(host) : otherwise);
  std::string page;
  for (size_t at = 0; (at = help.find(kAddress)) != help.npos; help.remove_prefix(at + kAddress.size()))
    page.append(help.substr(0, at)).append(address);
  return page.append(help);
}

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
      help_(HelpFor(configuration.limiters, limiters_)),
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
    limiter->AddRoutes(router,
                       [this](const HttpRequest& request) { return admin_.Refusal(request, AdminRight::kAll); });
  router.Add("GET", "/", [this](const HttpRequest& request) {
    return HttpResponse{.body = WithAddress(help_, request, host_and_port())};
  });
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
