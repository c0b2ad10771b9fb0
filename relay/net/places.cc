#include "relay/net/places.h"

#include <algorithm>

namespace weir {
namespace {

// The most places that a client may have for each free place. So a client can get nine tenths of all places.
constexpr uint64_t kPlacesForEachFree = 9;

}  // namespace

// Returns the client's networks, from the widest to the client itself.
std::vector<ClientNetwork> Places::NetworksOf(const IpAddress& client) const {
  if (client.is_v4()) return {NetworkOf(client)};
  return {NetworkOf(client, 48), NetworkOf(client, 56), NetworkOf(client, 64)};
}

uint64_t Places::ConnectionsOf(const ClientNetwork& network) const {
  const auto found = holders_.find(network);
  return found == holders_.end() ? 0 : found->second->connections;
}

Refusal Places::MayHave(const std::vector<ClientNetwork>& networks, uint64_t free) const {
  if (ConnectionsOf(networks.back()) >= most_of_a_client_) return Refusal::kAddress;
  const bool below_share = std::ranges::all_of(networks, [&](const ClientNetwork& network) WEIR_REQUIRES(mutex_) {
    return ConnectionsOf(network) < kPlacesForEachFree * free;
  });
  return below_share ? Refusal::kNone : Refusal::kTotal;
}

Refusal Places::Take(const IpAddress& client, std::unique_ptr<TakenPlace>* place) {
  const std::vector<ClientNetwork> networks = NetworksOf(client);
  std::unique_ptr<TakenPlace> made(new TakenPlace(*this));
  const MutexLock lock(mutex_);
  Refusal refusal = MayHave(networks, free());
  if (refusal == Refusal::kTotal && free() == 0 && MakeRoom(networks)) refusal = Refusal::kNone;
  if (refusal != Refusal::kNone) return refusal;
  Put(*made, networks);
  ++taken_;
  made->counts_ = true;
  *place = std::move(made);
  return Refusal::kNone;
}

Refusal Places::TakeUnnamed(std::unique_ptr<TakenPlace>* place) {
  std::unique_ptr<TakenPlace> made(new TakenPlace(*this));
  const MutexLock lock(mutex_);
  if (free() == 0 && !MakeRoom({})) return Refusal::kTotal;
  ++taken_;
  made->counts_ = true;
  *place = std::move(made);
  return Refusal::kNone;
}

Refusal Places::Name(TakenPlace& place, const IpAddress& client) {
  const std::vector<ClientNetwork> networks = NetworksOf(client);
  const MutexLock lock(mutex_);
  const Refusal refusal = MayHave(networks, free() + 1);  // plus the place that the connection has already
  if (refusal == Refusal::kNone) Put(place, networks);
  return refusal;
}

std::unique_ptr<TakenPlace> Places::TakeOfHere() {
  std::unique_ptr<TakenPlace> made(new TakenPlace(*this));
  made->is_of_here_ = true;
  const MutexLock lock(mutex_);
  if (of_here_.size() >= kMostOfHere) MostSilentGivesWay(of_here_);
  of_here_.push_back(made.get());
  made->counts_ = true;
  return made;
}

// Ends a connection of the widest network with the most connections, if that has at least two more than the widest
// network of the new client. If both are the same network, compares the next narrower networks in it. If the new
// connection has no client, its network is that of all connections without a client.
bool Places::MakeRoom(const std::vector<ClientNetwork>& networks) {
  Holder* holder = &everybody_;
  uint64_t own = taken() - everybody_.connections;
  for (const ClientNetwork& network : networks) {
    own = ConnectionsOf(network);
    if (holder->inner.empty() || holder->inner.rbegin()->second->network != network) break;
    holder = holder->inner.rbegin()->second;
  }
  if (holder->inner.empty() || holder->inner.rbegin()->first <= own + 1) return false;
  while (!holder->inner.empty()) holder = holder->inner.rbegin()->second;
  return MostSilentGivesWay(holder->places);
}

bool Places::MostSilentGivesWay(std::vector<TakenPlace*>& places) {
  const auto silent = std::ranges::min_element(places, {}, [](const TakenPlace* place) {
    return place->give_way_ ? place->heard_.load(std::memory_order_relaxed) : TakenPlace::Time::max();
  });
  if (silent == places.end() || !(*silent)->give_way_) return false;
  TakenPlace& place = **silent;
  place.give_way_();
  Remove(place);
  return true;
}

// Returns the holder, and makes it if there is none. If memory runs out, throws and changes nothing.
Places::Holder& Places::HolderOf(const ClientNetwork& network, Holder& outer) {
  if (const auto found = holders_.find(network); found != holders_.end()) return *found->second;
  auto made = std::make_unique<Holder>();
  made->network = network;
  made->outer = &outer;
  Holder& holder = *holders_.emplace(network, std::move(made)).first->second;
  try {
    outer.inner.emplace(0, &holder);
  } catch (...) {
    holders_.erase(network);
    throw;
  }
  return holder;
}

void Places::Put(TakenPlace& place, const std::vector<ClientNetwork>& networks) {
  Holder* outer = &everybody_;
  for (const ClientNetwork& network : networks) outer = &HolderOf(network, *outer);
  outer->places.push_back(&place);
  place.holder_ = outer;
  place.has_name_ = true;
  Count(*outer, 1);
}

void Places::Count(Holder& client, int64_t connections) {
  for (Holder* holder = &client; holder != nullptr;) {
    Holder* const outer = holder->outer;
    const uint64_t before = holder->connections;
    holder->connections += static_cast<uint64_t>(connections);
    if (outer != nullptr) {
      auto node = outer->inner.extract({before, holder});
      node.value().first = holder->connections;
      if (holder->connections > 0) outer->inner.insert(std::move(node));
      if (holder->connections == 0) holders_.erase(ClientNetwork(holder->network));
    }
    holder = outer;
  }
}

void Places::Remove(TakenPlace& place) {
  if (!std::exchange(place.counts_, false)) return;
  if (place.is_of_here_) {
    std::erase(of_here_, &place);
    return;
  }
  --taken_;
  if (place.holder_ == nullptr) return;
  std::erase(place.holder_->places, &place);
  Count(*std::exchange(place.holder_, nullptr), -1);
}

std::vector<ClientConnections> Places::Heaviest(size_t most, std::vector<uint64_t> groups) const {
  using Entry = std::pair<uint64_t, ClientNetwork>;  // the number of connections, and their client
  std::vector<Entry> heaviest;                       // a heap with the smallest entry in front
  std::vector<Entry> named;
  std::ranges::sort(groups);
  {
    const MutexLock lock(mutex_);
    for (const auto& [network, holder] : holders_) {
      if (holder->places.empty()) continue;
      const Entry entry(holder->connections, network);
      if (std::ranges::binary_search(groups, ClientNetworkHash()(network))) {
        named.push_back(entry);
      } else if (heaviest.size() < most) {
        heaviest.push_back(entry);
        std::ranges::push_heap(heaviest, std::greater<>());
      } else if (most > 0 && entry > heaviest.front()) {
        std::ranges::pop_heap(heaviest, std::greater<>());
        heaviest.back() = entry;
        std::ranges::push_heap(heaviest, std::greater<>());
      }
    }
  }
  std::ranges::sort_heap(heaviest, std::greater<>());
  heaviest.insert(heaviest.end(), named.begin(), named.end());
  std::vector<ClientConnections> clients;
  for (const auto& [connections, network] : heaviest)
    clients.push_back({ClientNetworkHash()(network), network.Name(), connections});
  return clients;
}

TakenPlace::~TakenPlace() {
  const MutexLock lock(places_.mutex_);
  places_.Remove(*this);
}

void TakenPlace::OnGiveWay(std::function<void()> give_way) {
  const MutexLock lock(places_.mutex_);
  give_way_ = std::move(give_way);
}

}  // namespace weir
