#include "relay/heaviest_clients.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "relay/account/ledger.h"
#include "relay/account/work_pool.h"
#include "relay/net/places.h"
#include "relay/net/server.h"

namespace weir {
namespace {

// Returns the group that the pool has for an address: Peer sets its lowest bit, so that it is never 0.
uint64_t KeyOf(uint64_t group) { return group | 1; }

}  // namespace

HeaviestClients FindHeaviestClients(const Server& server, const Ledger& ledger, const WorkPool& pool) {
  const WorkPool::Heaviest takers = pool.HeaviestTakers();
  std::map<uint64_t, HeaviestClients::Address> by_key;
  std::vector<uint64_t> groups;
  for (const Ledger::Holder& holder : ledger.Heaviest(HeaviestClients::kMost)) {
    groups.push_back(holder.address);
    by_key[KeyOf(holder.address)].held_bytes = holder.bytes;
  }
  for (const HeavyTakers::Taker& taker : takers.groups) {
    groups.insert(groups.end(), {taker.key, taker.key ^ 1});
    by_key[KeyOf(taker.key)].work = taker.work;
  }
  for (ClientConnections& client : server.HeaviestClients(HeaviestClients::kMost, groups)) {
    HeaviestClients::Address& address = by_key[KeyOf(client.group)];
    address.address = std::move(client.address);
    address.connections = client.connections;
  }

  HeaviestClients heaviest;
  for (const HeavyTakers::Taker& taker : takers.parties) {
    const std::string& address = by_key[KeyOf(taker.group)].address;
    if (!address.empty() && heaviest.connections.size() < HeaviestClients::kMost)
      heaviest.connections.push_back({taker.key, address, taker.work});
  }
  for (auto& [key, address] : by_key)
    if (!address.address.empty()) heaviest.addresses.push_back(std::move(address));
  KeepHeaviest(&heaviest.addresses);
  return heaviest;
}

void KeepHeaviest(std::vector<HeaviestClients::Address>* addresses) {
  using Address = HeaviestClients::Address;
  constexpr std::ptrdiff_t kOfEach = HeaviestClients::kMost / 3;
  if (addresses->size() > HeaviestClients::kMost) {
    auto next = addresses->begin();
    const auto keep = [&](auto measure) {
      // Addresses that are alike by this measure, for example with one connection each, are ordered by the others.
      std::ranges::partial_sort(next, next + kOfEach, addresses->end(), std::greater<>(), [measure](const Address& a) {
        return std::tuple(a.*measure, a.work, a.held_bytes, a.connections);
      });
      next += kOfEach;
    };
    keep(&Address::work);
    keep(&Address::held_bytes);
    keep(&Address::connections);
    addresses->erase(next, addresses->end());
  }
  std::ranges::sort(*addresses, [](const Address& a, const Address& b) {
    return std::tuple(a.work, a.held_bytes, a.connections) > std::tuple(b.work, b.held_bytes, b.connections);
  });
}

}  // namespace weir
