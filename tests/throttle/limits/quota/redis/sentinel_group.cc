#include "tests/throttle/limits/quota/redis/sentinel_group.h"

#include <map>
#include <stdexcept>
#include <utility>

#include "tests/fixtures/certificates.h"

namespace weir {

namespace {

constexpr size_t kSentinels = 3;

// Fast rather than safe, because a test waits for the failover. A machine that stalls for seconds must not put a
// sentinel into its tilt mode for long.
const std::vector<std::string> kImpatient = {
    "SENTINEL",   "DEBUG", "info-period",      "500",  "ping-period", "200", "publish-period", "200",
    "ask-period", "200",   "election-timeout", "2000", "tilt-period", "1000"};

RedisProcessOptions SentinelConfig(uint16_t master, const SentinelGroupOptions& options,
                                   const std::string& certificates) {
  const std::string name = SentinelGroup::kName;
  RedisProcessOptions sentinel{
      .kind = RedisProcessOptions::Kind::kSentinel, .tls = options.tls, .certificates = certificates};
  sentinel.config = {"sentinel monitor " + name + " 127.0.0.1 " + std::to_string(master) + " 2",
                     "sentinel down-after-milliseconds " + name + " " + std::to_string(options.down_after.count()),
                     "sentinel failover-timeout " + name + " 2000"};
  if (!options.password.empty()) sentinel.config.push_back("sentinel auth-pass " + name + " " + options.password);
  if (options.sentinels_have_password) {
    sentinel.password = options.password;
    sentinel.config.push_back("sentinel sentinel-pass " + options.password);
  }
  if (options.tls) sentinel.config.insert(sentinel.config.begin(), "tls-replication yes");
  return sentinel;
}

}  // namespace

SentinelGroup::SentinelGroup(SentinelGroupOptions options) : options_(std::move(options)) {
  RedisProcessOptions server{.password = options_.password, .tls = options_.tls, .certificates = certificates_.path()};
  if (options_.tls) MakeCertificates(certificates_.path());
  if (options_.tls) server.config = {"tls-replication yes"};
  servers_.push_back(std::make_unique<RedisProcess>(server));
  server.replica_of = servers_[0]->port();
  for (size_t i = 0; i < options_.replicas; ++i) servers_.push_back(std::make_unique<RedisProcess>(server));
  for (size_t i = 0; i < kSentinels; ++i) {
    sentinels_.push_back(
        std::make_unique<RedisProcess>(SentinelConfig(servers_[0]->port(), options_, certificates_.path())));
    sentinels_[i]->Command(kImpatient);
  }
  for (auto& sentinel : sentinels_) {
    if (!Eventually([&] { return Knows(*sentinel); })) throw std::runtime_error("a sentinel is alone");
  }
  if (!Replicated()) throw std::runtime_error("no replica");
}

std::string SentinelGroup::url() const {
  std::string url = options_.tls ? "rediss-sentinel://" : "redis-sentinel://";
  if (!options_.password.empty()) url += ":" + options_.password + "@";
  for (size_t i = 0; i < sentinels_.size(); ++i) url += (i == 0 ? "" : ",") + sentinels_[i]->address();
  return url + "/" + kName;
}

RedisProcess& SentinelGroup::Server(uint16_t port) {
  for (auto& server : servers_) {
    if (server->port() == port) return *server;
  }
  throw std::runtime_error("no server at port " + std::to_string(port));
}

bool SentinelGroup::Knows(RedisProcess& sentinel) {
  const RedisAnswer master = sentinel.Command({"SENTINEL", "MASTER", kName});
  return master.Value("num-slaves") == std::to_string(options_.replicas) &&
         master.Value("num-other-sentinels") == std::to_string(kSentinels - 1) && master.Value("flags") == "master";
}

uint16_t SentinelGroup::MasterPort() {
  std::map<std::string, size_t> votes;
  for (auto& sentinel : sentinels_) {
    if (!sentinel->running()) continue;
    const RedisAnswer address = sentinel->Command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", kName});
    if (address.items.size() == 2) ++votes[address.items[1].text];
  }
  for (const auto& [port, count] : votes) {
    if (count > kSentinels / 2) return static_cast<uint16_t>(std::stoi(port));
  }
  return 0;
}

bool SentinelGroup::FailsOverFrom(uint16_t port) {
  return Eventually([&] {
    const uint16_t now = MasterPort();
    return now != 0 && now != port && Server(now).Info("replication", "role") == "master";
  });
}

// A sentinel gives a failover up if it sees no good replica at that moment, as on a busy machine, and does not try
// again. While it names the old master, no failover has succeeded, so this asks again; if one is under way, the
// sentinel refuses.
bool SentinelGroup::FailOverFrom(uint16_t port) {
  RedisProcess& sentinel = *sentinels_[0];
  int looks = 0;
  const bool planned = Eventually([&] {
    const RedisAnswer address = sentinel.Command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", kName});
    if (address.items.size() == 2 && address.items[1].text != std::to_string(port)) return true;
    if (looks++ % 250 == 0) sentinel.Command({"SENTINEL", "FAILOVER", kName});
    return false;
  });
  return planned && FailsOverFrom(port);
}

void SentinelGroup::RestartSentinels() {
  for (auto& sentinel : sentinels_) {
    sentinel->Restart(RedisProcess::Data::kKept);
    sentinel->Command(kImpatient);
  }
}

bool SentinelGroup::Replicated() {
  return Eventually([&] {
    int64_t written = -1;
    size_t replicas = 0;
    for (auto& server : servers_) {
      if (!server->running()) continue;
      const RedisAnswer info = server->Command({"INFO", "replication"});
      if (info.Field("role") == "master") {
        written = std::stoll(info.Field("master_repl_offset"));
      } else {
        ++replicas;
      }
    }
    size_t in_step = 0;
    for (auto& server : servers_) {
      if (!server->running()) continue;
      const RedisAnswer info = server->Command({"INFO", "replication"});
      if (info.Field("master_link_status") != "up" || info.Field("master_sync_in_progress") != "0") continue;
      in_step += std::stoll(info.Field("slave_repl_offset")) >= written ? 1 : 0;
    }
    return written >= 0 && in_step == replicas;
  });
}

}  // namespace weir
