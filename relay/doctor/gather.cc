#include "relay/doctor/gather.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include "config/text/readable.h"
#include "config/text/url.h"
#include "relay/admin/admin.h"
#include "relay/doctor/check_words.h"
#include "relay/doctor/database_facts.h"
#include "relay/doctor/directory_facts.h"
#include "relay/doctor/instance_facts.h"
#include "relay/limiters/gate_server.h"
#include "relay/net/host_names.h"
#include "relay/net/tls_certificate.h"
#include "relay/operator/orly_access.h"
#include "relay/process/lock_file.h"
#include "relay/rules/rules_reader.h"

namespace weir {
namespace {

void Declare(SettingTable& table, SettingsFacts& facts) {
  Declare(table, facts.relay);
  Declare(table, facts.limiters);
}

void AddOnce(const Status& status, std::vector<Status>* all) {
  const auto same = [&status](const Status& other) { return other.message() == status.message(); };
  if (!status.ok() && std::ranges::none_of(*all, same)) all->push_back(status);
}

// Returns false if this user may not read the file. This is no fault of the settings, so the file is added to `unseen`.
bool MayRead(const std::string& path, std::vector<std::string>* unseen) {
  if (path.empty() || access(path.c_str(), R_OK) == 0 || errno != EACCES) return true;
  unseen->push_back(AsText(path) + WhyUnseen(EACCES));
  return false;
}

SettingsFacts LookAtSettings(const GatherOptions& options, std::vector<std::string>* unseen) {
  SettingsFacts facts;
  SettingTable table;
  Declare(table, facts);
  AddOnce(table.Load(options.environment), &facts.wrong);
  if (!options.data_dir.empty()) facts.relay.data_dir = options.data_dir;
  facts.unknown = table.UnknownNames(options.environment);
  for (std::string& warning : WarnOfOrlyAccess(options.environment)) facts.unknown.push_back(std::move(warning));
  facts.all = table.rows().size();
  facts.set = static_cast<size_t>(
      std::ranges::count_if(table.rows(), [](const SettingRow& row) { return row.source != "default"; }));
  AddOnce(Check(facts.relay), &facts.wrong);
  ServedLimiterSettings readable = facts.limiters.limiters;
  for (std::string* file : {&readable.quota.config_file, &readable.envoy.rules_directory})
    if (!MayRead(*file, unseen)) file->clear();
  for (const Status& wrong : Check(readable)) AddOnce(wrong, &facts.wrong);
  std::vector<std::string> rule_files;
  const Status rules = ReadRules(readable.quota.config_file, &rule_files).status();
  if (std::ranges::all_of(rule_files, [&](const std::string& file) { return MayRead(file, unseen); }))
    AddOnce(rules, &facts.wrong);
  const TlsFiles& files = facts.relay.server.tls;
  if (!files.empty() && MayRead(files.certificate, unseen) && MayRead(files.key, unseen)) {
    const auto certificate = TlsCertificate::Load(files);
    AddOnce(certificate.status(), &facts.wrong);
    if (certificate.ok()) facts.certificate_expires_at = certificate.value()->expires_at();
  }
  return facts;
}

std::string ValueIn(const SettingTable& table, const std::string& name) {
  const auto row = std::ranges::find(table.rows(), name, &SettingRow::name);
  return row == table.rows().end() ? "" : row->value;
}

// Returns the names of the relay's settings that differ between the two environments, except those that flags may have
// set.
std::vector<std::string> Differences(const Environment& ours, const Environment& theirs) {
  static const std::set<std::string> kByFlag = {"DATA_DIR", "PORT", "LISTEN"};
  struct Loaded {
    RelayConfiguration relay;
    ServedLimiterSettings limiters;
    SettingTable table;
  };
  Loaded a;
  Loaded b;
  for (auto& [loaded, environment] : {std::pair(&a, &ours), std::pair(&b, &theirs)}) {
    Declare(loaded->table, loaded->relay);
    Declare(loaded->table, loaded->limiters);
    if (!loaded->table.Load(*environment).ok()) return {};
  }
  std::vector<std::string> names;
  for (const SettingRow& row : a.table.rows())
    if (!kByFlag.contains(row.name) && row.value != ValueIn(b.table, row.name)) names.push_back("WEIR_" + row.name);
  return names;
}

// Returns the data directory, from the flag or the settings.
std::string DataDirOf(const GatherOptions& options) {
  std::string data_dir = RelayConfiguration().data_dir;
  SettingTable table;
  table.Add("DATA_DIR", &data_dir, "");
  (void)table.Load(options.environment);
  return options.data_dir.empty() ? data_dir : options.data_dir;
}

class Gatherer {
 public:
  explicit Gatherer(GatherOptions options) : options_(std::move(options)) {}

  Result<Facts> Run() {
    facts_.now_seconds = ToSeconds(WallClock::System().Now().time_since_epoch());
    if (Status found = FindProcess(); !found.ok()) return found;
    facts_.settings = LookAtSettings(options_, &facts_.unseen);
    const StorageSettings& storage = facts_.settings.relay.storage;
    DirectoryFacts events = LookAtEvents();
    if (IsEmbedded(storage) && !events.hangs) {
      facts_.rocksdb = LookAtRocksDb(EventsDirectory(), facts_.now_seconds, &facts_.unseen);
    } else if (IsPostgres(storage.store)) {
      facts_.postgres = LookAtPostgres(storage, &facts_.unseen);
    }
    FindInstances();
    DecideWhoIsHere();
    if (facts_.has_relay) facts_.directories.push_back(std::move(events));
    LookAtQuotas();
    facts_.host = LookAtHost(options_.files, CgroupsOf());
    const bool something_runs = !facts_.instances.empty() || facts_.relay_may_run();
    if (process_ == 0 && something_runs && !IsRootOfCgroups(options_.files)) ForgetCgroup();
    ResolveTarget();
    return std::move(facts_);
  }

 private:
  std::string EventsDirectory() const { return DataDirOf(options_) + "/events"; }

  // Finds the relay's process. With --as-running, replaces options_.environment by the environment of this process.
  Status FindProcess() {
    std::vector<std::string> unseen;  // LookAtEvents reports the same
    // HolderOf would never return from a disk that hangs.
    disk_hangs_ = LookAtDirectory(DataDirOf(options_), "", false, &unseen).hangs;
    if (disk_hangs_ && options_.as_running)
      return Status::Error("--as-running: the disk of " + AsText(DataDirOf(options_)) + " does not answer");
    const std::optional<LockHolder> holder = disk_hangs_ ? std::nullopt : HolderOf(EventsDirectory());
    const bool serves = holder && !holder->address.empty();  // an import has no address
    if (serves && HasLockOpen(holder->process, EventsDirectory())) process_ = holder->process;
    if (process_ == 0) {
      if (!options_.as_running) return {};
      return Status::Error("--as-running: no relay on RocksDB runs on " + AsText(DataDirOf(options_)) +
                           ", or this user may not look at its process. Name its directory with --data-dir, and run "
                           "this as its user or as root. For a relay on PostgreSQL, or a gate, give this the service's "
                           "environment instead: set -a; . /etc/weir/relay.env; weir doctor");
    }
    facts_.process = {.process = process_, .swapped_bytes = SwappedBytes(options_.files, process_)};
    Result<Environment> theirs = EnvironmentOf(options_.files, process_);
    if (!theirs.ok()) return options_.as_running ? theirs.status() : Status();
    if (options_.as_running) {
      std::error_code error;
      options_.data_dir = std::filesystem::absolute(DataDirOf(options_), error).string();
      options_.environment = std::move(theirs).value();
      // Relative paths in the relay's settings begin at the relay's working directory.
      std::filesystem::current_path(options_.files.proc + "/" + std::to_string(process_) + "/cwd", error);
    } else {
      facts_.process->other_settings = Differences(options_.environment, theirs.value());
    }
    return {};
  }

  bool HasHolder() const { return facts_.rocksdb && facts_.rocksdb->holder; }

  void FindInstances() {
    if (!options_.url.empty()) {
      const Result<ServerUrl> url = ParseServerUrl(options_.url);
      return Ask(options_.url, url.ok() && url.value().is_loopback());
    }
    if (HasHolder() && !facts_.rocksdb->holder->address.empty()) Ask(facts_.rocksdb->holder->address, true);
    const uint64_t port = facts_.settings.relay.server.port;
    TryPort(port, true);
    // If WEIR_PORT is not set, a gate listens at kGatePort.
    if (port == ServerSettings().port) TryPort(kGatePort, false);
  }

  void TryPort(uint64_t port, bool is_ours) {
    const ServerSettings& server = facts_.settings.relay.server;
    const std::string address = HostAndPort(server.listen, static_cast<uint16_t>(port));
    const bool known = std::ranges::any_of(facts_.instances, [&](const auto& i) { return i.url.ends_with(address); });
    if (port == 0 || known) return;
    const auto ask = [&](bool tls) { return AskInstance(Question((tls ? "https://" : "http://") + address, true)); };
    InstanceFacts found = ask(!server.tls.empty());
    // The instance may have been started with other settings of TLS, so Gather asks again, with or without TLS.
    if (!found.problem.empty() && !found.nobody_listens)
      if (InstanceFacts other = ask(server.tls.empty()); other.problem.empty()) found = std::move(other);
    if (found.is_stranger && is_ours && !HasHolder()) facts_.stranger = address;
    // Leaves out a program that does not answer if its port is only a guess, because it may not be weir.
    if (found.problem.empty() || (is_ours && !found.nobody_listens && !found.is_stranger))
      facts_.instances.push_back(std::move(found));
  }

  void Ask(const std::string& url, bool is_local) { facts_.instances.push_back(AskInstance(Question(url, is_local))); }

  InstanceQuestion Question(const std::string& url, bool is_local) const {
    return {.url = url, .is_local = is_local, .token = [this, url]() -> Result<std::string> {
              const std::string& token = facts_.settings.limiters.admin.admin_token;
              if (!token.empty()) return token;
              if (disk_hangs_) return Status::Error("the disk of the relay's token does not answer");
              return FindAdminTokenFor(url, facts_.settings.relay.data_dir);
            }};
  }

  // Sets has_relay. A data directory is a sign of a relay: a relay makes one, a gate without a relay needs none.
  void DecideWhoIsHere() {
    std::error_code error;
    const bool has_gate = std::ranges::any_of(
        facts_.instances, [](const InstanceFacts& i) { return i.problem.empty() && !i.is_relay(); });
    facts_.has_relay = facts_.postgres || !has_gate || LocalRelay(facts_) != nullptr || disk_hangs_ ||
                       std::filesystem::exists(facts_.settings.relay.data_dir, error);
    if (!facts_.has_relay) facts_.rocksdb.reset();
  }

  // Run calls this before LookAtRocksDb, which would never return from a disk that hangs.
  DirectoryFacts LookAtEvents() {
    const RelayConfiguration& relay = facts_.settings.relay;
    const bool embedded = IsEmbedded(relay.storage);
    const bool synced = embedded && relay.storage.rocksdb.sync == SyncMode::kBatch;
    DirectoryFacts events =
        LookAtDirectory(relay.data_dir, embedded ? "the events" : "the relay's token", synced, &facts_.unseen);
    events.is_private = embedded;
    return events;
  }

  void LookAtQuotas() {
    const std::string& quotas = facts_.settings.limiters.limiters.quota.store.store;
    for (const std::string kind : {"sqlite:", "yaml:"}) {
      if (!quotas.starts_with(kind)) continue;
      const std::filesystem::path directory = std::filesystem::path(quotas.substr(kind.size())).parent_path();
      facts_.directories.push_back(LookAtDirectory(directory.empty() ? "." : directory.string(), "the quotas",
                                                   kind == "sqlite:", &facts_.unseen));
    }
  }

  std::string CgroupsOf() const { return process_ > 0 ? std::to_string(process_) : "self"; }

  // Clears the facts about this program's cgroup, because the running instance seems to be in another cgroup.
  void ForgetCgroup() {
    facts_.host.cgroup = {};
    if (facts_.host.room) facts_.host.room->cgroup_limit_bytes.reset();
    facts_.unseen.emplace_back(
        "the cgroup of the running instance (visible only for a relay on RocksDB, to its user and to root, if "
        "--data-dir "
        "names the directory that it uses)");
  }

  void ResolveTarget() {
    const MemoryTargetSettings& memory = facts_.settings.relay.storage.memory;
    const InstanceFacts* relay = LocalRelay(facts_);
    // 0 means a share of the memory that was free when the relay started.
    if (memory.target_memory_mb == 0 && relay != nullptr) {
      facts_.settings.memory_target_bytes = AsCount(relay->metrics.Get("weir_memory_target_bytes"));
      return;
    }
    const MemoryProbe probe({.proc = options_.files.proc, .cgroup = options_.files.cgroup, .process = CgroupsOf()});
    const Result<uint64_t> target = ResolveMemoryTarget(memory, probe, facts_.settings.relay.storage.limiter.emergency);
    if (target.ok()) facts_.settings.memory_target_bytes = target.value();
  }

  GatherOptions options_;
  Facts facts_;
  int process_ = 0;          // the id of the relay's process; 0 if it is not known
  bool disk_hangs_ = false;  // true if even reads of the data directory get no answer
};

}  // namespace

Result<Facts> Gather(GatherOptions options) { return Gatherer(std::move(options)).Run(); }

}  // namespace weir
