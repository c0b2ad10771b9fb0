// Places decides which clients get one of the connections that a server takes, and which give way.
//
//   Places places(10'000, 200);
//   std::unique_ptr<TakenPlace> place;
//   if (places.Take(address, &place) != Refusal::kNone) …   // told 503
//   place->OnGiveWay([…] { … post: end the connection … });
//   place->Heard(now);                                      // at whatever the client sends
//
// A client (a /64 of IPv6) may have a limited number of places. When places are short, a /56 and a /48 of IPv6 count as
// one client as well. Three rules keep a door open, however many come:
//
//  * The last tenth is for clients below their share: a client that has nine times as many places as are free gets
//    none.
//  * If none is free, the holder with the most gives up its most silent connection to a client that has fewer. Holders
//    are the clients of IPv4 and the /48s; if the newcomer's own /48 has the most, its /56s, then its /64s.
//  * 127.0.0.1 and ::1 have kMostOfHere places of their own besides, for health checks and administrators on this
//    machine. The most silent of those gives way too. They are for requests, not for WebSockets.
//
// A connection of a trusted proxy has a place without a name until its client is known.
//
// Threads: any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "relay/server/client_address.h"

namespace weir {

enum class Refusal { kNone, kTotal, kAddress };

struct ClientConnections {
  uint64_t group = 0;   // see GroupOf
  std::string address;  // the /64 if it is IPv6
  uint64_t connections = 0;
};

class TakenPlace;

class Places {
 public:
  static constexpr size_t kMostOfHere = 32;

  Places(uint64_t most, uint64_t most_of_a_client) : most_(most), most_of_a_client_(most_of_a_client) {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  Refusal Take(const IpAddress& client, std::unique_ptr<TakenPlace>* place);
  // Takes a place for a proxy's connection, whose client is not known yet.
  Refusal TakeUnnamed(std::unique_ptr<TakenPlace>* place);
  // Gives such a place to its client, or leaves it as it was.
  Refusal Name(TakenPlace& place, const IpAddress& client);
  // Takes one of the places that loopback has besides; never fails.
  std::unique_ptr<TakenPlace> TakeOfHere();

  // The number of places that are taken, without those of loopback.
  uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  // Returns at most `most` of the clients with the most connections, and the clients of `groups` that have any, in no
  // order. Walks over all clients.
  std::vector<ClientConnections> Heaviest(size_t most, std::vector<uint64_t> groups) const;

 private:
  friend class TakenPlace;
  struct Holder {
    ClientNetwork network;
    Holder* outer = nullptr;  // null: this is everybody_
    uint64_t connections = 0;
    std::set<std::pair<uint64_t, Holder*>> inner;  // by connections
    std::vector<TakenPlace*> places;               // a client's
  };

  std::vector<ClientNetwork> NetworksOf(const IpAddress& client) const;
  uint64_t ConnectionsOf(const ClientNetwork& network) const;
  uint64_t free() const { return most_ - std::min(most_, taken()); }
  Refusal MayHave(const std::vector<ClientNetwork>& networks, uint64_t free) const;
  bool MakeRoom(const std::vector<ClientNetwork>& networks);
  bool MostSilentGivesWay(std::vector<TakenPlace*>& places);
  Holder& HolderOf(const ClientNetwork& network, Holder& outer);
  void Put(TakenPlace& place, const std::vector<ClientNetwork>& networks);
  void Count(Holder& client, int64_t connections);
  void Remove(TakenPlace& place);

  const uint64_t most_;
  const uint64_t most_of_a_client_;
  mutable std::mutex mutex_;
  std::atomic<uint64_t> taken_{0};
  std::unordered_map<ClientNetwork, std::unique_ptr<Holder>, ClientNetworkHash> holders_;
  Holder everybody_;
  std::vector<TakenPlace*> of_here_;
};

// The place of a connection; it is free again when this ends.
class TakenPlace {
 public:
  using Time = std::chrono::steady_clock::time_point;

  ~TakenPlace();
  TakenPlace(const TakenPlace&) = delete;
  TakenPlace& operator=(const TakenPlace&) = delete;

  // `give_way` is called at most once, from any thread, when the connection has to give way: its place belongs to
  // another from then on. It should only hand over to another thread. A connection without it is not asked.
  void OnGiveWay(std::function<void()> give_way);
  void Heard(Time now) { heard_.store(now, std::memory_order_relaxed); }

  bool has_name() const { return has_name_; }
  bool is_of_here() const { return is_of_here_; }

 private:
  friend class Places;
  explicit TakenPlace(Places& places) : places_(places) {}

  Places& places_;
  std::atomic<Time> heard_{Time::max()};
  bool has_name_ = false;
  bool is_of_here_ = false;
  // Protected by the mutex of the places.
  Places::Holder* holder_ = nullptr;
  bool counts_ = false;
  std::function<void()> give_way_;
};

}  // namespace weir
