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
  std::vector<std::string> config;  // for each node
};

class ClusterServers {
 public:
  static constexpr int kSlots = 16384;

  // Waits until every node knows all others and reports a healthy cluster.
  explicit ClusterServers(ClusterServersOptions options = {});

  std::string url() const;  // names all nodes, with the password
  std::string ca_file() const { return nodes_[0]->ca_file(); }
  RedisProcess& node(size_t i) { return *nodes_[i]; }
  size_t size() const { return nodes_.size(); }

  int SlotOf(const std::string& key);                      // computed by a server
  size_t OwnerOf(int slot);                                // the node that owns it, after the moves so far
  std::vector<std::string> Keys(size_t node);              // all its keys
  int64_t Calls(size_t node, const std::string& command);  // how many it has run, by INFO commandstats

  // The steps of moving a slot. Until the last one the owner answers ASK for keys that it does not have.
  void BeginMove(int slot, size_t to);
  void MoveKeys(int slot, size_t to, int at_once = 100);  // until none is left
  void EndMove(int slot, size_t to);                      // the old owner answers MOVED from now on
  void Move(int slot, size_t to);                         // all three steps

  // Adds an empty master that the others know.
  size_t AddNode();
  // Waits until the replica has all of the master's data, and the other nodes know it.
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
