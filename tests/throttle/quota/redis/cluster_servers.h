// A Redis Cluster of three masters, each with a third of the slots.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/fixtures/redis_process.h"

namespace weir {

struct ClusterServersOptions {
  size_t masters = 3;
  std::string password;
  bool tls = false;
  std::vector<std::string> config;  // of each
};

class ClusterServers {
 public:
  static constexpr int kSlots = 16384;

  // Waits until all nodes know all nodes, and say that the cluster is well.
  explicit ClusterServers(ClusterServersOptions options = {});

  std::string url() const;  // of all nodes, with the password
  std::string ca_file() const { return nodes_[0]->ca_file(); }
  RedisProcess& node(size_t i) { return *nodes_[i]; }
  size_t size() const { return nodes_.size(); }

  int SlotOf(const std::string& key);          // as the server says
  size_t OwnerOf(int slot);                    // the node, as the cluster was made and slots were moved since
  std::vector<std::string> Keys(size_t node);  // all that it has
  int64_t Calls(size_t node, const std::string& command);  // that it has run so far, as INFO commandstats counts

  // The steps of moving a slot. From the first to the last the owner answers ASK for keys that it does not have.
  void BeginMove(int slot, size_t to);
  void MoveKeys(int slot, size_t to, int at_once = 100);  // until there are none left
  void EndMove(int slot, size_t to);                      // MOVED from now on
  void Move(int slot, size_t to);                         // all of it

  // Another master, empty, that the others know.
  size_t AddNode();
  // Waits until it has all that the master has, and the others know.
  void MakeReplica(size_t node, size_t master);

 private:
  void Launch(size_t node);
  void Meet();
  bool IsWell();
  std::string Id(size_t node);
  void MustSay(size_t node, const std::vector<std::string>& arguments);

  const ClusterServersOptions options_;
  TempDirectory certificates_;
  std::vector<std::unique_ptr<RedisProcess>> nodes_;
  std::vector<size_t> owner_;  // by slot
};

}  // namespace weir
