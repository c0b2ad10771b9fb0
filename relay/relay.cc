#include "relay/relay.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "config/cores.h"
#include "monitors/memory_target.h"
#include "monitors/postgres/postgres_monitor.h"
#include "relay/account/byte_budget.h"
#include "relay/account/work_pool.h"
#include "relay/admin/admin.h"
#include "relay/moderation/moderation.h"
#include "relay/net/host_names.h"
#include "relay/net/server.h"
#include "relay/observe/relay/relay_metrics.h"
#include "relay/observe/trace/traces.h"
#include "relay/operator/nip98.h"
#include "relay/operator/routes.h"
#include "relay/plugins/policy_plugin.h"
#include "relay/process/data_directory.h"
#include "relay/process/logging.h"
#include "relay/protocol/client.h"
#include "relay/protocol/delivery.h"
#include "relay/protocol/event_pipeline.h"
#include "relay/protocol/memory_relief.h"
#include "relay/protocol/relay_context.h"
#include "relay/relay_plugin.h"
#include "relay/search/searched_kinds.h"
#include "relay/take_over.h"

namespace weir {
namespace {

// The time that a running relay has to finish and close its database.
constexpr std::chrono::seconds kLongestTakeOver{30};

// The ledger's share of the memory budget that the throttle watches. It is below the throttle's setpoint, so strangers'
// requests by themselves never make the throttle slow down all clients.
constexpr double kLedgerShare = 0.6;
static_assert(kLedgerShare < kLeastMemorySetpoint);

// Events in flight may use the memory budget divided by this number. The relay holds each as text and as record, and
// the ledger needs room for messages that still arrive. With a fixed 32 MiB and a memory target of 256 MiB, the relay
// disconnected 32 of 45 clients that sent it 2,900 notes of 20 KB.
constexpr uint64_t kPartInFlight = 4;

// A worker waits for the answers of a database server, and for a connection to it. So there are as many workers as
// connections may read, and one more for each core. Idle threads cost next to nothing, and a bound in the pool of
// workers would have to know which of its tasks read. If more requests read than there are workers, other work waits
// with them.
size_t WorkerCount(const RelayConfiguration& configuration) {
  if (configuration.relay.worker_threads > 0) return static_cast<size_t>(configuration.relay.worker_threads);
  const uint64_t waiting = IsEmbedded(configuration.storage) ? 0 : configuration.storage.postgres.connections;
  return waiting + Cores();
}

std::string EventsDirectory(const RelayConfiguration& configuration) { return configuration.data_dir + "/events"; }

HttpRouter WithPlugins(HttpRouter router, const std::vector<RelayPlugin*>& plugins) {
  for (RelayPlugin* plugin : plugins) plugin->AddRoutes(router);
  return router;
}

// Lets the server accept WebSockets at the path of the relay's own URL too, so that a proxy need not remove the path.
ServerSettings AtPathOf(std::string_view url, ServerSettings settings) {
  const size_t host = url.find("://");
  const size_t path = host == url.npos ? url.npos : url.find('/', host + 3);
  if (path != url.npos) settings.websocket_path = url.substr(path, url.find_first_of("?#", path) - path);
  return settings;
}

StorageOptions StorageOf(const RelayConfiguration& configuration, const std::string& address) {
  StorageOptions options{.settings = configuration.storage, .data_dir = configuration.data_dir, .address = address};
  options.max_disk_bytes = configuration.retention.max_disk_bytes();
  options.searched_kinds = ParseSearchedKinds(configuration.relay.search_kinds).value();
  if (!configuration.relay.url.empty()) options.own_urls.push_back(configuration.relay.url);
  return options;
}

}  // namespace

Relay::Relay(const RelayConfiguration& configuration, std::vector<RelayPlugin*> plugins)
    : configuration_(configuration),
      plugins_(std::move(plugins)),
      metrics_(std::make_unique<RelayMetrics>()),
      rules_(std::make_shared<RulesInForce>()),
      ledger_(std::make_shared<Ledger>(LedgerBoundsOf(configuration.server),
                                       [this](int64_t bytes, OwnUse use) {
                                         if (storage_ != nullptr) storage_->AddOwnBytes(bytes, use);
                                       })),
      server_(std::make_unique<Server>(
          AtPathOf(configuration.relay.url, configuration.server),
          WithPlugins(RelayRoutes(
                          configuration, *metrics_, *rules_, [this](std::string* note) { return ReadyBut(note); },
                          [this](std::string_view name) { return moderation_->Text(name); }),
                      plugins_),
          [this](Connection& connection) { return std::make_shared<Client>(*context_, *pipeline_, connection); },
          ledger_)) {}

Relay::~Relay() { Shutdown(std::chrono::milliseconds(0)); }

Result<std::unique_ptr<Relay>> Relay::Open(const RelayConfiguration& configuration, bool take_over,
                                           std::vector<RelayPlugin*> plugins) {
  std::unique_ptr<Relay> relay(new Relay(configuration, std::move(plugins)));
  if (const Status status = relay->OpenAll(take_over); !status.ok()) return status;
  return relay;
}

Status Relay::OpenAll(bool take_over) {
  if (take_over && !IsEmbedded(configuration_.storage)) {
    return Status::Error("--take-over is for a relay whose events are in its data directory; on " +
                         StoreName(configuration_.storage.store) +
                         " several may run at once: start this one on another port, and stop the other then");
  }
  if (configuration_.relay.auth && configuration_.relay.url.empty() && !IsNearby(configuration_.server.listen)) {
    spdlog::warn("WEIR_RELAY_URL is not set: clients that come by a public name cannot AUTH");
  }
  // Binds the port first: clients that connect from now on wait in its backlog.
  if (Status status = server_->Listen(take_over); !status.ok()) return status;
  if (take_over) {
    Status gone = AskHolderToGo(EventsDirectory(configuration_), kLongestTakeOver);
    if (!gone.ok()) return gone;
  }
  std::string warning;
  if (Status made = MakeDataDirectory(configuration_.data_dir, &warning); !made.ok()) return made;
  if (!warning.empty()) spdlog::warn("{}", warning);
  Result<std::unique_ptr<Storage>> opened =
      Storage::Open(StorageOf(configuration_, (speaks_tls() ? "https://" : "http://") + host_and_port()));
  if (!opened.ok()) return opened.status();
  storage_ = std::move(opened).value();
  MakeAdmin();
  Result<std::unique_ptr<Traces>> traces = Traces::Open(configuration_.trace);
  if (!traces.ok()) return traces.status();
  traces_ = std::move(traces).value();
  return Assemble();
}

// Called only after the store is open, because the process that holds the store's lock owns the token's file.
void Relay::MakeAdmin() {
  const std::string& data_dir = configuration_.data_dir;
  Result<std::string> token = MakeAdminToken(data_dir);
  if (token.ok()) {
    admin_token_ = std::move(token).value();
  } else {
    RemoveAdminToken(data_dir, ReadAdminToken(data_dir));
    spdlog::warn("no token for administrators: {}", token.status().message());
  }
  const LoopbackTrust trust = TrustInLoopback(configuration_.relay.admin_from_loopback);
  admin_ = std::make_unique<Admin>(
      admin_token_, trust,
      std::make_unique<Nip98>(AdminKeysOf(configuration_.relay).value(), configuration_.relay.url));
  spdlog::info("administrators: requests from this machine are {} ({}); {}", trust.trusted ? "trusted" : "not trusted",
               trust.why, admin_token_.empty() ? "there is no token" : "the token is in " + AdminTokenPath(data_dir));
}

Status Relay::Assemble() {
  Storage& storage = *storage_;
  ledger_->BoundTotal(static_cast<uint64_t>(kLedgerShare * static_cast<double>(storage.own_budget_bytes())));
  const auto count_own_bytes = [&storage](int64_t bytes, OwnUse use) { storage.AddOwnBytes(bytes, use); };
  budget_ = std::make_unique<ByteBudget>(
      std::min(configuration_.relay.max_bytes_in_flight_mb << 20, storage.own_budget_bytes() / kPartInFlight));
  relief_ = std::make_unique<MemoryRelief>(storage.limiter(), *ledger_, *budget_,
                                           [this](uint64_t emergencies) { TellEmergency(emergencies); });
  std::vector<boost::asio::any_io_executor> executors;
  for (size_t i = 0; i < server_->io_threads(); ++i) executors.push_back(server_->executor(i));
  delivery_ = std::make_unique<Delivery>(metrics_->counters(), Clock::System(), WallClock::System(),
                                         std::move(executors), count_own_bytes);
  pool_ = std::make_unique<WorkPool>(WorkerCount(configuration_));
  if (Status status = StartPolicyPlugins(); !status.ok()) return status;
  context_ = std::make_unique<RelayContext>(
      RelayContext{.settings = configuration_.relay,
                   .store = storage.store(),
                   .limiter = storage.limiter(),
                   .pool = *pool_,
                   .counters = metrics_->counters(),
                   .delivery = *delivery_,
                   .budget = *budget_,
                   .max_pending_bytes = configuration_.server.max_pending_bytes,
                   .max_message_bytes = configuration_.server.max_message_bytes,
                   .rules = rules_,
                   .count_own_bytes = count_own_bytes,
                   .tracer = Traces::TracerOf(traces_),
                   .write_plugin = write_plugin_.get(),
                   .import_plugin = configuration_.plugins.imports ? write_plugin_.get() : nullptr,
                   .read_plugin = read_plugin_.get()});
  pipeline_ = std::make_unique<EventPipeline>(*context_);
  if (Status status = OpenModeration(); !status.ok()) return status;
  if (Status status = Follow(); !status.ok()) return status;
  const RelayServices services = ServicesOfParts();
  SetMetricSources();
  for (RelayPlugin* plugin : plugins_)
    if (Status status = plugin->Start(services); !status.ok()) return status;
  // The relief starts last, because it may log a state page, which needs all of the above.
  relief_->Start(server_->executor(0));
  return Status();
}

Status Relay::OpenModeration() {
  const auto is_administrator = [keys = AdminKeysOf(configuration_.relay).value()](const PublicKey& key) {
    return std::ranges::find(keys, ToHex(key), &AdminKey::hex) != keys.end();
  };
  moderation_ = std::make_unique<Moderation>(storage_->store(), pipeline_->commit(), *rules_, is_administrator);
  return moderation_->Open();
}

Status Relay::StartPolicyPlugins() {
  Result<std::unique_ptr<PolicyPlugin>> write = PolicyPlugin::StartForWrites(configuration_.plugins);
  if (!write.ok()) return write.status();
  write_plugin_ = std::move(write).value();
  Result<std::unique_ptr<PolicyPlugin>> read = PolicyPlugin::StartForReads(configuration_.plugins);
  if (!read.ok()) return read.status();
  read_plugin_ = std::move(read).value();
  return Status();
}

std::vector<PolicyPlugin*> Relay::PolicyPlugins() const {
  std::vector<PolicyPlugin*> plugins;
  for (PolicyPlugin* plugin : {write_plugin_.get(), read_plugin_.get()})
    if (plugin != nullptr) plugins.push_back(plugin);
  return plugins;
}

RelayServices Relay::ServicesOfParts() {
  return {.context = *context_,
          .events = *pipeline_,
          .metrics = *metrics_,
          .admin = *admin_,
          .moderation = *moderation_,
          .configuration = configuration_,
          .append_live =
              [this](LiveTables& tables) {
                for (const RelayPlugin* plugin : plugins_) plugin->AppendLive(tables);
              },
          .heaviest_clients = [this] { return FindHeaviestClients(*server_, *ledger_, *pool_); }};
}

Status Relay::Follow() {
  SiblingsListener listener;
  listener.limits = EventLimitsOf(configuration_.relay);
  listener.has_subscribers = [this] { return delivery_->HasSubscribers(); };
  listener.deliver = [this](std::vector<SharedEvent> events, std::function<void()> done) {
    std::vector<LiveEvent> live;
    for (SharedEvent& shared : events) live.push_back({std::move(shared.event), shared.serial, Clock::System().Now()});
    pipeline_->DeliverShared(std::move(live), std::move(done));
  };
  if (Status status = storage_->Follow(std::move(listener)); !status.ok()) return status;
  if (Siblings* const siblings = storage_->siblings())
    context_->share_ephemeral = [siblings](EventView event) { siblings->Share(event); };
  return {};
}

void Relay::SetMetricSources() {
  MetricSources sources;
  sources.service.ready = [this] { return Ready().ok(); };
  sources.service.server = [this] { return server_->Stats(); };
  sources.store = [this] { return storage_->store().Sizes(); };
  sources.group_commit = [this] { return pipeline_->CommitStats(); };
  sources.subscriptions = [this] { return delivery_->subscriptions(); };
  sources.work_waiting = [this] { return pool_->waiting(); };
  sources.data_dir = configuration_.data_dir;
  sources.limiter = &storage_->limiter();
  sources.monitor = &storage_->monitor();
  sources.rocksdb = storage_->rocksdb_monitor();
  sources.postgres = storage_->postgres_monitor();
  if (PostgresStore* const store = storage_->postgres_store())
    sources.postgres_readers = [store] { return store->ReaderStats(); };
  sources.siblings = storage_->siblings();
  sources.service.traces = traces_.get();
  sources.ledger = ledger_.get();
  sources.last_failure = [this] { return pipeline_->write_health().LastFailure(); };
  sources.service.plugins = [this](MetricFamilies& families) {
    for (const RelayPlugin* plugin : plugins_) plugin->AppendMetrics(families);
    AppendPluginMetrics(PolicyPlugins(), families);
    moderation_->AppendMetrics(families);
  };
  metrics_->SetSources(std::move(sources));
}

Status Relay::Ready() const {
  if (pipeline_ == nullptr) return Status::Error("not open yet");
  const LimiterView view = storage_->limiter().View();
  if (view.emergency) return Status::Error("emergency: too little memory, scans and bulk work are held back");
  if (Status answers = DatabaseAnswers(view[WorkClass::kInteractive]); !answers.ok()) return answers;
  Status write = storage_->store().Stuck();
  if (write.ok()) write = pipeline_->write_health().LastWrite();
  return write.ok() ? write : Status::Error("events cannot be stored: " + ErrorForStrangers(write));
}

// Returns success for RocksDB.
Status Relay::DatabaseAnswers(const LimiterView::Write& write) const {
  const Siblings* const siblings = storage_->siblings();
  if (siblings == nullptr) return {};
  const SiblingsStats stats = siblings->Stats();
  if (!stats.read.ok()) return Status::Error(ErrorForStrangers(stats.read));
  if (stats.read_only)
    return Status::Error("events cannot be stored: " + std::string(WordsOf(Cause::kDatabaseReadOnly).words));
  if (!write.open && write.reason == kStandbySignal && write.level >= 1)  // the gate refuses, so no write would fail
    return Status::Error("events cannot be stored: " + std::string(WordsOf(Cause::kStandbyMissing).words));
  const Status read = storage_->postgres_store()->ReadHealth();
  return read.ok() ? Status() : Status::Error("events cannot be read: " + ErrorForStrangers(read));
}

Status Relay::ReadyBut(std::string* note) const {
  Status ready = Ready();
  if (ready.ok() && !storage_->store().loss().empty())
    *note = "acknowledged events may be lost: the log and `weir doctor` say more";
  if (const Siblings* const siblings = storage_ != nullptr ? storage_->siblings() : nullptr;
      ready.ok() && note->empty() && siblings != nullptr && !siblings->Stats().bus.is_up)
    *note = "the bus is down: ephemeral events do not reach the other relays, and stored ones reach them later";
  for (const PolicyPlugin* plugin : PolicyPlugins())
    if (ready.ok() && note->empty()) *note = plugin->Trouble();
  return ready;
}

void Relay::Shutdown(std::chrono::milliseconds longest) {
  if (std::exchange(is_down_, true)) return;
  server_->Shutdown(longest);
  RemoveAdminToken(configuration_.data_dir, admin_token_);
  metrics_->SetSources({});
  if (storage_ != nullptr) storage_->Unfollow();
  // Settles the questions to the operator's policy plugins, so that the workers get the last tasks of events and
  // requests, and no import waits for an answer.
  for (PolicyPlugin* plugin : PolicyPlugins()) plugin->Stop();
  // The plugins finish their work; gates, workers and the commit thread still run meanwhile. The last plugin stops
  // first, so that /live does not ask plugins that have stopped.
  for (auto plugin = plugins_.rbegin(); plugin != plugins_.rend(); ++plugin) (*plugin)->Stop();
  if (pipeline_ == nullptr) return;
  if (moderation_ != nullptr) moderation_->Stop();
  // Refuses the requests and events that wait at a gate, so that the pool's destructor can finish. Admitted events are
  // saved.
  storage_->limiter().Stop();
  pool_.reset();
  pipeline_->Stop();
  budget_->ForgetWaiting();
  if (const Status flushed = storage_->store().Flush(); !flushed.ok()) {
    spdlog::warn("what is in memory could not be flushed: {}; it is in the log of the database", flushed.message());
  }
}

void Relay::Accept() { server_->Accept(); }

uint16_t Relay::port() const { return server_->port(); }

std::string Relay::host_and_port() const { return HostAndPort(configuration_.server.listen, port()); }

bool Relay::speaks_tls() const { return server_->speaks_tls(); }

void Relay::ReloadCertificate() { server_->ReloadCertificate(); }

std::string Relay::StatePage(std::string why) const {
  std::string note;
  Status ready = ReadyBut(&note);
  return metrics_->State(std::move(why), std::move(ready), std::move(note));
}

void Relay::TellState() const { LogAsked(StatePage("asked for by SIGUSR1")); }

void Relay::TellEmergency(uint64_t emergencies) const {
  spdlog::warn("{}", StatePage(emergencies == 1 ? "as an emergency of memory begins"
                                                : "as the " + std::to_string(emergencies) +
                                                      "th emergency of memory since the last page begins"));
}

void Relay::ForceShutdown() { server_->ForceShutdown(); }

}  // namespace weir
