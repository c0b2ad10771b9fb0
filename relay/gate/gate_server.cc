#include "relay/gate/gate_server.h"

#include <prometheus/text_serializer.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "config/clock.h"
#include "relay/admin.h"
#include "relay/gate/gate.h"
#include "relay/identity.h"
#include "relay/relay_metrics_rep.h"
#include "relay/routes.h"
#include "relay/server/server.h"
#include "relay/version.h"

namespace weir {
namespace {

constexpr std::string_view kHelp = R"(weir gate: may this request go to this model now?

  curl -X POST localhost:3335/v1/decide  -d '{"model":"gpt-4o","tokens":900}'
  curl -X POST localhost:3335/v1/reserve -d '{"model":"gpt-4o","tokens":900}'
  curl -X POST localhost:3335/v1/commit  -d '{"reservation":"…","prompt_tokens":800,"output_tokens":300}'
  curl         localhost:3335/v1/models

Also /v1/refund, /v1/record, /v1/explain, /v1/models/{model}, PUT /v1/models/{model}/quota and
DELETE /v1/models/{model}/state, DELETE /v1/state (administrators).
/v1/openapi.json tells every call to programs. /v1/health, /metrics, /healthz, /readyz.
)";

// As for a relay, and `auto` is more careful: who sets a token, or listens to the network, has named who may.
LoopbackTrust Trust(const GateConfiguration& configuration) {
  if (configuration.admin_from_loopback == AdminFromLoopback::kAuto) {
    if (!configuration.admin.admin_token.empty()) return {false, "WEIR_ADMIN_TOKEN is set"};
    const std::string& listen = configuration.server.listen;
    if (!IsLoopbackName(listen.find(':') == listen.npos ? listen : "[" + listen + "]"))
      return {false, "it listens on more than loopback"};
  }
  RelaySettings settings;
  settings.admin_from_loopback = configuration.admin_from_loopback;
  return TrustInLoopback(settings, configuration.server.trusted_proxies);
}

double SecondsSince1970() { return ToSeconds(WallClock::System().Now().time_since_epoch()); }

}  // namespace

void Declare(SettingTable& table, GateConfiguration& c) {
  Declare(table, c.log_level, c.log_format);
  Declare(table, c.server);
  Declare(table, c.gate);
  Declare(table, c.admin);
  Declare(table, c.admin_from_loopback);
}

// The server ends first.
struct GateServer::Rep {
  Rep(const GateConfiguration& c, std::unique_ptr<QuotaGate> opened)
      : configuration(c),
        gate(std::move(opened)),
        admin(RelaySettings(), WallClock::System(), c.admin.admin_token, Trust(c), Admin::TokenFrom::kSetting),
        server(c.server, Routes(), nullptr) {}

  HttpRouter Routes();
  std::string Metrics() const;
  void LogAdmin() const;

  const GateConfiguration configuration;
  const std::unique_ptr<QuotaGate> gate;
  const Admin admin;
  const double started_at = SecondsSince1970();
  mutable CachedText metrics_text;
  Server server;
};

HttpRouter GateServer::Rep::Routes() {
  HttpRouter router;
  QuotaGate::AddRoutes(
      router, configuration.gate, [this](const HttpRequest& request) { return admin.Refusal(request); },
      [this]() -> QuotaGate& { return *gate; });
  router.Add("GET", "/", [](const HttpRequest&) { return HttpResponse{.body = std::string(kHelp)}; });
  router.Add("GET", "/metrics", [this](const HttpRequest&) {
    return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                        .body = metrics_text.Get(Clock::System().Now(), [this] { return Metrics(); })};
  });
  AddHealthRoutes(router, [this] { return gate->Ready(); });
  return router;
}

std::string GateServer::Rep::Metrics() const {
  MetricFamilies families;
  families.Gauge("weir_build_info", "1, with the version of the program as label").Add(1.0, {{"version", Version()}});
  MetricSources sources;
  sources.server = [this] { return server.Stats(); };
  AppendSources(sources, families);
  gate->AppendMetrics(families);
  AppendProcess(started_at, families);
  return prometheus::TextSerializer().Serialize(std::move(families).Take());
}

void GateServer::Rep::LogAdmin() const {
  const LoopbackTrust trust = Trust(configuration);
  spdlog::info("administrators: requests from this machine are {} ({}); {}", trust.trusted ? "trusted" : "not trusted",
               trust.why,
               configuration.admin.admin_token.empty() ? "WEIR_ADMIN_TOKEN is not set" : "or WEIR_ADMIN_TOKEN");
}

GateServer::GateServer(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
GateServer::~GateServer() { Shutdown(std::chrono::milliseconds(0)); }

Result<std::unique_ptr<GateServer>> GateServer::Open(const GateConfiguration& configuration) {
  auto gate = QuotaGate::Open(configuration.gate);
  if (!gate.ok()) return gate.status();
  auto rep = std::make_unique<Rep>(configuration, std::move(gate).value());
  if (const Status status = rep->server.Listen(); !status.ok()) return status;
  rep->LogAdmin();
  return std::unique_ptr<GateServer>(new GateServer(std::move(rep)));
}

void GateServer::Accept() { rep_->server.Accept(); }
uint16_t GateServer::port() const { return rep_->server.port(); }
std::string GateServer::host_and_port() const {
  return HostAndPort(rep_->configuration.server.listen, rep_->server.port());
}
void GateServer::Reload() { rep_->gate->ReloadSoon(); }

void GateServer::Shutdown(std::chrono::milliseconds longest) {
  rep_->server.Shutdown(std::max(std::chrono::milliseconds(0), longest - rep_->gate->longest_call()));
  rep_->gate->Stop();
}

void GateServer::ForceShutdown() { rep_->server.ForceShutdown(); }
bool GateServer::all_is_in_store() const { return rep_->gate->all_is_in_store(); }

}  // namespace weir
