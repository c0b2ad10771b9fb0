#include "relay/relay.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "relay/admin.h"
#include "relay/byte_budget.h"
#include "relay/client.h"
#include "relay/delivery.h"
#include "relay/event_pipeline.h"
#include "relay/identity.h"
#include "relay/relay_context.h"
#include "relay/relay_metrics.h"
#include "relay/relay_part.h"
#include "relay/routes.h"
#include "relay/server/server.h"
#include "relay/take_over.h"
#include "relay/work_pool.h"
#include "throttle/adaptive_limiter.h"

namespace weir {
namespace {

// For a running relay to finish and close its database.
constexpr std::chrono::seconds kLongestTakeOver{30};

// At 150 bytes each the live subscriptions take a sixteenth of the memory target at most.
constexpr uint64_t kTargetPerFilterValue = uint64_t{16} * 150;

size_t WorkerCount(const RelaySettings& settings) {
  if (settings.worker_threads > 0) return static_cast<size_t>(settings.worker_threads);
  return std::max(1U, std::thread::hardware_concurrency());
}

std::string EventsDirectory(const RelayConfiguration& configuration) { return configuration.data_dir + "/events"; }

HttpRouter WithParts(HttpRouter router, const std::vector<RelayPart*>& parts) {
  for (RelayPart* part : parts) part->AddRoutes(router);
  return router;
}

Result<std::unique_ptr<RocksDbStore>> OpenStore(const RelayConfiguration& configuration, const std::string& address) {
  const Result<uint64_t> target = ResolveMemoryTarget(configuration.memory, MemoryProbe());
  if (!target.ok()) return target.status();
  StoreOptions options;
  options.path = EventsDirectory(configuration);
  options.memory_target_bytes = target.value();
  options.settings = configuration.store;
  options.address = address;
  if (!configuration.relay.url.empty()) options.own_urls.push_back(configuration.relay.url);
  return RocksDbStore::Open(options);
}

}  // namespace

// From the ground up: what stands below is used by what stands above it, and goes after it.
struct Relay::Rep {
  Rep(const RelayConfiguration& c, std::vector<RelayPart*> p);
  ~Rep();

  Status Open(bool take_over);
  void MakeAdmin();
  Status Assemble();
  void SetMetricSources();
  Status Ready() const;
  std::string host_and_port() const { return HostAndPort(configuration.server.listen, server.port()); }
  void Shutdown(std::chrono::milliseconds longest);

  const RelayConfiguration configuration;
  const std::vector<RelayPart*> parts;
  RelayMetrics metrics;
  std::unique_ptr<RocksDbStore> store;
  std::string admin_token;  // empty: none could be written
  std::unique_ptr<Admin> admin;
  std::unique_ptr<RocksDbMonitor> monitor;
  std::unique_ptr<AdaptiveLimiter> limiter;
  std::unique_ptr<ByteBudget> budget;
  std::unique_ptr<Delivery> delivery;
  std::unique_ptr<WorkPool> pool;
  std::unique_ptr<RelayContext> context;
  std::unique_ptr<EventPipeline> pipeline;
  Server server;
  bool is_down = false;
};

Relay::Rep::Rep(const RelayConfiguration& c, std::vector<RelayPart*> p)
    : configuration(c),
      parts(std::move(p)),
      server(c.server, WithParts(RelayRoutes(c, metrics, [this] { return Ready(); }), parts),
             [this](Connection& connection) { return std::make_shared<Client>(*context, *pipeline, connection); }) {}

Status Relay::Rep::Open(bool take_over) {
  if (configuration.relay.auth && configuration.relay.url.empty() && !IsNearby(configuration.server.listen)) {
    spdlog::warn("WEIR_RELAY_URL is not set: clients that come by a public name cannot AUTH");
  }
  // The port comes first: clients that connect from here on wait in its backlog.
  if (Status status = server.Listen(take_over); !status.ok()) return status;
  if (take_over) {
    Status gone = AskHolderToGo(EventsDirectory(configuration), kLongestTakeOver);
    if (!gone.ok()) return gone;
  }
  Result<std::unique_ptr<RocksDbStore>> opened = OpenStore(configuration, "http://" + host_and_port());
  if (!opened.ok()) return opened.status();
  store = std::move(opened).value();
  MakeAdmin();
  return Assemble();
}

// After the store: who has its lock has the token's file too.
void Relay::Rep::MakeAdmin() {
  const std::string& data_dir = configuration.data_dir;
  Result<std::string> token = MakeAdminToken(data_dir);
  if (token.ok()) {
    admin_token = std::move(token).value();
  } else {
    RemoveAdminToken(data_dir, ReadAdminToken(data_dir));
    spdlog::warn("no token for administrators: {}", token.status().message());
  }
  const LoopbackTrust trust = TrustInLoopback(configuration.relay, configuration.server.trusted_proxies);
  admin = std::make_unique<Admin>(configuration.relay, WallClock::System(), admin_token, trust);
  spdlog::info("administrators: requests from this machine are {} ({}); {}", trust.trusted ? "trusted" : "not trusted",
               trust.why, admin_token.empty() ? "there is no token" : "the token is in " + AdminTokenPath(data_dir));
}

Status Relay::Rep::Assemble() {
  const uint64_t target = store->prepared().target_bytes;
  monitor = std::make_unique<RocksDbMonitor>(store->db(), store->families(), store->prepared(), configuration.monitor);
  limiter = std::make_unique<AdaptiveLimiter>(*monitor, configuration.limiter);
  monitor->Start();
  limiter->Start();
  const auto count_own_bytes = [m = monitor.get()](int64_t bytes) { m->AddOwnBytes(bytes); };
  budget = std::make_unique<ByteBudget>(configuration.relay.max_bytes_in_flight_mb << 20, count_own_bytes);
  std::vector<boost::asio::any_io_executor> executors;
  for (size_t i = 0; i < server.io_threads(); ++i) executors.push_back(server.executor(i));
  delivery = std::make_unique<Delivery>(metrics, Clock::System(), WallClock::System(), std::move(executors));
  pool = std::make_unique<WorkPool>(WorkerCount(configuration.relay));
  context = std::make_unique<RelayContext>(RelayContext{.settings = configuration.relay,
                                                        .store = *store,
                                                        .limiter = *limiter,
                                                        .pool = *pool,
                                                        .metrics = metrics,
                                                        .delivery = *delivery,
                                                        .budget = *budget,
                                                        .max_pending_bytes = configuration.server.max_pending_bytes,
                                                        .max_filter_values = target / kTargetPerFilterValue,
                                                        .count_own_bytes = count_own_bytes});
  pipeline = std::make_unique<EventPipeline>(*context);
  for (RelayPart* part : parts) {
    if (Status status = part->Start({.context = *context, .events = *pipeline, .admin = *admin}); !status.ok())
      return status;
  }
  SetMetricSources();
  return Status();
}

void Relay::Rep::SetMetricSources() {
  MetricSources sources;
  sources.server = [this] { return server.Stats(); };
  sources.store = [this] { return store->Sizes(); };
  sources.group_commit = [this] { return pipeline->CommitStats(); };
  sources.subscriptions = [this] { return delivery->subscriptions(); };
  sources.work_waiting = [this] { return pool->waiting(); };
  sources.limiter = limiter.get();
  sources.monitor = monitor.get();
  sources.parts = [this](MetricFamilies& families) {
    for (const RelayPart* part : parts) part->AppendMetrics(families);
  };
  metrics.SetSources(std::move(sources));
}

Status Relay::Rep::Ready() const {
  if (pipeline == nullptr) return Status::Error("not open yet");
  if (limiter->View().emergency) return Status::Error("emergency: too little memory, scans are refused");
  const Status write = pipeline->LastWrite();
  return write.ok() ? write : Status::Error("events cannot be stored: " + write.message());
}

void Relay::Rep::Shutdown(std::chrono::milliseconds longest) {
  if (std::exchange(is_down, true)) return;
  server.Shutdown(longest);
  RemoveAdminToken(configuration.data_dir, admin_token);
  metrics.SetSources({});
  // They finish what they have under way, for which gates, workers and the commit thread are still there.
  for (RelayPart* part : parts) part->Stop();
  if (pipeline == nullptr) return;
  // Those who wait at a gate are refused, so that the pool can run dry; what was verified is saved.
  limiter->Stop();
  pool.reset();
  pipeline->Stop();
  budget->ForgetWaiting();
  if (const Status flushed = store->Flush(); !flushed.ok()) {
    spdlog::warn("what is in memory could not be flushed: {}; it is in the log of the database", flushed.message());
  }
}

Relay::Rep::~Rep() {
  Shutdown(std::chrono::milliseconds(0));
  if (monitor != nullptr) monitor->Detach();
}

Relay::Relay(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
Relay::~Relay() = default;

Result<std::unique_ptr<Relay>> Relay::Open(const RelayConfiguration& configuration, bool take_over,
                                           std::vector<RelayPart*> parts) {
  auto rep = std::make_unique<Rep>(configuration, std::move(parts));
  if (const Status status = rep->Open(take_over); !status.ok()) return status;
  return std::unique_ptr<Relay>(new Relay(std::move(rep)));
}

void Relay::Accept() { rep_->server.Accept(); }

uint16_t Relay::port() const { return rep_->server.port(); }

std::string Relay::host_and_port() const { return rep_->host_and_port(); }

void Relay::Shutdown(std::chrono::milliseconds longest) { rep_->Shutdown(longest); }

void Relay::ForceShutdown() { rep_->server.ForceShutdown(); }

}  // namespace weir
