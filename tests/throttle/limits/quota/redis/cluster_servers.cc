#include "tests/throttle/limits/quota/redis/cluster_servers.h"

#include <stdexcept>
#include <utility>

#include "tests/fixtures/certificates.h"

namespace weir {

ClusterServers::ClusterServers(ClusterServersOptions options) : options_(std::move(options)) {
  owner_.resize(kSlots);
  if (options_.tls) MakeCertificates(certificates_.path());
  for (size_t i = 0; i < options_.masters; ++i) {
    Launch(i);
    const int first = static_cast<int>(kSlots * i / options_.masters);
    const int last = static_cast<int>(kSlots * (i + 1) / options_.masters) - 1;
    for (int slot = first; slot <= last; ++slot) owner_[slot] = i;
    MustSay(i, {"CLUSTER", "ADDSLOTSRANGE", std::to_string(first), std::to_string(last)});
  }
  Meet();
}

void ClusterServers::Launch(size_t node) {
  RedisProcessOptions server{.kind = RedisProcessOptions::Kind::kClusterNode,
                             .password = options_.password,
                             .tls = options_.tls,
                             .certificates = certificates_.path()};
  // The last line of a name counts.
  server.config = {"cluster-node-timeout 2000"};
  server.config.insert(server.config.end(), options_.config.begin(), options_.config.end());
  nodes_.push_back(std::make_unique<RedisProcess>(server));
  MustSay(node, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(node + 1)});
}

void ClusterServers::Meet() {
  for (size_t i = 1; i < nodes_.size(); ++i) {
    MustSay(0,
            {"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[i]->port()), std::to_string(nodes_[i]->bus_port())});
  }
  if (!Eventually([this] { return IsWell(); })) throw std::runtime_error("no cluster:\n" + nodes_[0]->Log());
}

bool ClusterServers::IsWell() {
  for (auto& node : nodes_) {
    const RedisAnswer info = node->Command({"CLUSTER", "INFO"});
    if (info.Field("cluster_state") != "ok" || info.Field("cluster_slots_ok") != std::to_string(kSlots) ||
        info.Field("cluster_known_nodes") != std::to_string(nodes_.size()) ||
        info.Field("cluster_size") != std::to_string(options_.masters)) {
      return false;
    }
    // In this node's CLUSTER SLOTS, a node that it does not talk to yet has no address.
    const std::string nodes = node->Command({"CLUSTER", "NODES"}).text;
    if (nodes.find("handshake") != std::string::npos || nodes.find("disconnected") != std::string::npos) return false;
  }
  return true;
}

size_t ClusterServers::AddNode() {
  Launch(nodes_.size());
  Meet();
  return nodes_.size() - 1;
}

void ClusterServers::MakeReplica(size_t node, size_t master) {
  MustSay(node, {"CLUSTER", "REPLICATE", Id(master)});
  const bool known = Eventually([&] {
    if (nodes_[node]->Info("replication", "master_link_status") != "up") return false;
    for (auto& other : nodes_) {
      if (other->Command({"CLUSTER", "REPLICAS", Id(master)}).items.size() != 1) return false;
    }
    return true;
  });
  if (!known) throw std::runtime_error("no replica:\n" + nodes_[node]->Log());
}

std::string ClusterServers::url() const {
  std::string url = options_.tls ? "rediss-cluster://" : "redis-cluster://";
  if (!options_.password.empty()) url += ":" + options_.password + "@";
  for (size_t i = 0; i < nodes_.size(); ++i) url += (i == 0 ? "" : ",") + nodes_[i]->address();
  return url;
}

void ClusterServers::MustSay(size_t node, const std::vector<std::string>& arguments) {
  const RedisAnswer answer = nodes_[node]->Command(arguments);
  if (!answer.ok()) throw std::runtime_error(arguments[0] + " " + arguments[1] + ": " + answer.text);
}

int ClusterServers::SlotOf(const std::string& key) {
  for (auto& node : nodes_) {
    if (node->running()) return static_cast<int>(node->Command({"CLUSTER", "KEYSLOT", key}).integer);
  }
  throw std::runtime_error("no node runs");
}

size_t ClusterServers::OwnerOf(int slot) { return owner_[slot]; }

std::vector<std::string> ClusterServers::Keys(size_t node) { return nodes_[node]->Command({"KEYS", "*"}).texts(); }

int64_t ClusterServers::Calls(size_t node, const std::string& command) {
  const std::string stat = nodes_[node]->Info("commandstats", "cmdstat_" + command);  // calls=12,usec=…
  return stat.empty() ? 0 : std::stoll(stat.substr(stat.find('=') + 1));
}

std::string ClusterServers::Id(size_t node) { return nodes_[node]->Command({"CLUSTER", "MYID"}).text; }

void ClusterServers::BeginMove(int slot, size_t to) {
  const size_t from = OwnerOf(slot);
  MustSay(to, {"CLUSTER", "SETSLOT", std::to_string(slot), "IMPORTING", Id(from)});
  MustSay(from, {"CLUSTER", "SETSLOT", std::to_string(slot), "MIGRATING", Id(to)});
}

void ClusterServers::MoveKeys(int slot, size_t to, int at_once) {
  const size_t from = OwnerOf(slot);
  for (;;) {
    const std::vector<std::string> keys =
        nodes_[from]->Command({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), std::to_string(at_once)}).texts();
    if (keys.empty()) return;
    std::vector<std::string> migrate{"MIGRATE", "127.0.0.1", std::to_string(nodes_[to]->port()), "", "0", "10000"};
    if (!options_.password.empty()) {
      migrate.emplace_back("AUTH");
      migrate.push_back(options_.password);
    }
    migrate.emplace_back("KEYS");
    migrate.insert(migrate.end(), keys.begin(), keys.end());
    MustSay(from, migrate);
  }
}

void ClusterServers::EndMove(int slot, size_t to) {
  const size_t from = OwnerOf(slot);
  const std::string id = Id(to);
  MustSay(to, {"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id});
  MustSay(from, {"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id});
  owner_[slot] = to;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (i != to && i != from && nodes_[i]->running()) {
      MustSay(i, {"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", id});
    }
  }
}

void ClusterServers::Move(int slot, size_t to) {
  BeginMove(slot, to);
  MoveKeys(slot, to);
  EndMove(slot, to);
}

}  // namespace weir
