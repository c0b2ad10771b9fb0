// Places: who gets one of the connections that a server takes, and who gives way.
//
//   Places places(10'000, 200);
//   std::unique_ptr<TakenPlace> place;
//   if (places.Take(address, &place) != Refusal::kNone) …   // told 503
//   place->OnGiveWay([…] { … post: end the connection … });
//   place->Heard(now);                                      // at whatever the client sends
//
// A client (of IPv6 a /64) may have so many places, and of IPv6 a /56 or a /48 is looked at as one as well when places
// are short. Three rules keep a door open, however many come:
//
//  * The last tenth is for those below their share: nobody gets a place who has nine times as many as are free.
//  * Where none is free, the holder with the most gives up its most silent connection to a client that has fewer: among
//    the clients of IPv4 and the /48s, and within the /48 that the newcomer is of among its /56s, then its /64s.
//  * 127.0.0.1 and ::1 have kMostOfHere places of their own besides, for health checks and administrators on this
//    machine. Of those the most silent gives way too. They are for requests, not for WebSockets.
//
// A connection of a trusted proxy has a place without a name until it is known whose it is.
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
  uint64_t group = 0;   // as GroupOf has it
  std::string address;  // of IPv6 the /64
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
  // Of a proxy, for a client that is not known yet.
  Refusal TakeUnnamed(std::unique_ptr<TakenPlace>* place);
  // Gives such a place to its client, or leaves it as it was.
  Refusal Name(TakenPlace& place, const IpAddress& client);
  // One of those that loopback has besides; always.
  std::unique_ptr<TakenPlace> TakeOfHere();

  // Those of loopback aside.
  uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  // At most so many of the clients with the most connections, and those of these groups that have any, in no order. A
  // walk over all.
  std::vector<ClientConnections> Heaviest(size_t most, std::vector<uint64_t> groups) const;

 private:
  friend class TakenPlace;
  struct Holder {
    ClientNetwork network;
    Holder* outer = nullptr;  // null: everybody
    uint64_t connections = 0;
    std::set<std::pair<uint64_t, Holder*>> inner;  // by connections
    std::vector<TakenPlace*> places;               // of a client
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

// Of a connection; free again when this ends.
class TakenPlace {
 public:
  using Time = std::chrono::steady_clock::time_point;

  ~TakenPlace();
  TakenPlace(const TakenPlace&) = delete;
  TakenPlace& operator=(const TakenPlace&) = delete;

  // Called at most once, from any thread, when the connection has to give way: its place is somebody else's from then
  // on. It should only hand over. Until it is set nobody asks.
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
  // Under the mutex of the places.
  Places::Holder* holder_ = nullptr;
  bool counts_ = false;
  std::function<void()> give_way_;
};

}  // namespace weir
