// Places: decides which clients get one of the limited number of connections of a server, and which connections are
// ended to make room for others.
//
//   Places places(10'000, 200);
//   std::unique_ptr<TakenPlace> place;
//   if (places.Take(address, &place) != Refusal::kNone) …   // answer 503
//   place->OnGiveWay([…] { … post: end the connection … });
//   place->Heard(now);                                      // whenever the client has sent input
//
// A client is an IPv4 address or a /64 of IPv6 (client_address.h). Each client may have at most a fixed number of
// places. When places are short, a /56 or a /48 of IPv6 counts as one client, too. Three rules leave room for new
// clients, however many connections there are:
//
//  * The last tenth of the places is for clients with few connections: a client that has at least nine times as many
//    places as are free gets no more.
//  * If no place is free, Places compares how many connections each IPv4 address and each IPv6 /48 has. The one with
//    the most loses a connection if the IPv4 address or /48 of the new client has at least two fewer. If the /48 of the
//    new client itself has the most, the /56s in it are compared in the same way; if its /56 has the most of them, the
//    /64s in that. In a /48 that loses a connection, Places chooses the /56 with the most connections, and in that the
//    /64 with the most. The chosen client loses its most silent connection, which is the one that has sent nothing for
//    the longest time.
//  * 127.0.0.1 and ::1 have kMostOfHere extra places, for health checks and administrators on this machine. A
//    connection from there gets one if it gets no other place. If all extra places are taken, a new connection takes
//    the place of the most silent one. The extra places are for HTTP requests, not for WebSockets.
//
// A connection of a trusted proxy has a place without a client, until it becomes a WebSocket; the request for that
// names its client.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "relay/net/client_address.h"

namespace weir {

// The reason why a client gets no place. kNone: it gets a place. kTotal: too few places are free for a client that has
// as many connections as this one. kAddress: the client has as many places as one client may have.
enum class Refusal { kNone, kTotal, kAddress };

// A client and the number of its connections.
struct ClientConnections {
  uint64_t group = 0;   // GroupOf in client_address.h
  std::string address;  // see ClientNetwork::Name
  uint64_t connections = 0;
};

class TakenPlace;

class Places {
 public:
  static constexpr size_t kMostOfHere = 32;  // the number of extra places for loopback

  // Makes `most` places, of which one client may have `most_of_a_client`. The object must outlive its places.
  Places(uint64_t most, uint64_t most_of_a_client) : most_(most), most_of_a_client_(most_of_a_client) {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // Takes a place for a client; this may end another connection. Returns kNone and sets `place`, or returns the reason
  // why the client gets no place and leaves `place` unchanged.
  Refusal Take(const IpAddress& client, std::unique_ptr<TakenPlace>* place);
  // Does the same for a proxy's connection, whose client is not known yet. Returns kNone or kTotal.
  Refusal TakeUnnamed(std::unique_ptr<TakenPlace>* place);
  // Assigns a place of TakeUnnamed to `client`, once the client is known. Ends no other connection. If the client
  // cannot have the place, returns the reason and leaves the place unchanged; otherwise returns kNone.
  Refusal Name(TakenPlace& place, const IpAddress& client);
  // Takes one of the extra places for loopback. If all are taken, the most silent of their connections is ended; never
  // fails.
  std::unique_ptr<TakenPlace> TakeOfHere();

  // Returns the number of places that are taken, without the extra places for loopback.
  uint64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  // Returns, in no particular order, the clients whose group is in `groups`, and the `most` other clients that have the
  // most connections. Leaves out clients without a connection. Takes time in proportion to the number of clients.
  std::vector<ClientConnections> Heaviest(size_t most, std::vector<uint64_t> groups) const;

 private:
  friend class TakenPlace;
  // A client or a wider network, with the number of its connections.
  struct Holder {
    ClientNetwork network;
    Holder* outer = nullptr;  // the next wider network; null for everybody_
    uint64_t connections = 0;
    std::set<std::pair<uint64_t, Holder*>> inner;  // the next narrower networks, by connections
    std::vector<TakenPlace*> places;               // the places of a client; empty for a wider network
  };

  std::vector<ClientNetwork> NetworksOf(const IpAddress& client) const;
  uint64_t ConnectionsOf(const ClientNetwork& network) const WEIR_REQUIRES(mutex_);
  uint64_t free() const { return most_ - std::min(most_, taken()); }
  Refusal MayHave(const std::vector<ClientNetwork>& networks, uint64_t free) const WEIR_REQUIRES(mutex_);
  bool MakeRoom(const std::vector<ClientNetwork>& networks) WEIR_REQUIRES(mutex_);
  bool MostSilentGivesWay(std::vector<TakenPlace*>& places) WEIR_REQUIRES(mutex_);
  Holder& HolderOf(const ClientNetwork& network, Holder& outer) WEIR_REQUIRES(mutex_);
  void Put(TakenPlace& place, const std::vector<ClientNetwork>& networks) WEIR_REQUIRES(mutex_);
  void Count(Holder& client, int64_t connections) WEIR_REQUIRES(mutex_);
  void Remove(TakenPlace& place) WEIR_REQUIRES(mutex_);

  const uint64_t most_;
  const uint64_t most_of_a_client_;
  mutable Mutex mutex_;
  std::atomic<uint64_t> taken_{0};
  std::unordered_map<ClientNetwork, std::unique_ptr<Holder>, ClientNetworkHash> holders_ WEIR_GUARDED_BY(mutex_);
  Holder everybody_ WEIR_GUARDED_BY(mutex_);
  std::vector<TakenPlace*> of_here_ WEIR_GUARDED_BY(mutex_);
};

// TakenPlace: the place of one connection. The destructor frees the place.
class TakenPlace {
 public:
  using Time = std::chrono::steady_clock::time_point;

  ~TakenPlace();
  TakenPlace(const TakenPlace&) = delete;
  TakenPlace& operator=(const TakenPlace&) = delete;

  // Sets the function that ends the connection when its place is given to another connection. `give_way` is called at
  // most once, on any thread, and never after this object is destroyed. It runs under the mutex of Places, so it must
  // not call Places or a place; it should only post to another thread. A connection for which OnGiveWay was not called
  // keeps its place.
  void OnGiveWay(std::function<void()> give_way);
  // Notes that the client has sent input at `now`. Until the first call the connection counts as the least silent.
  void Heard(Time now) { heard_.store(now, std::memory_order_relaxed); }

  bool has_name() const { return has_name_; }      // true if its client is known; false for loopback's extra places
  bool is_of_here() const { return is_of_here_; }  // true for loopback's extra places

 private:
  friend class Places;
  explicit TakenPlace(Places& places) : places_(places) {}

  Places& places_;
  std::atomic<Time> heard_{Time::max()};
  bool has_name_ = false;
  bool is_of_here_ = false;
  // Protected by the mutex of places_. Annotations cannot say so, because clang does not know that places_ is the
  // Places whose functions use these members.
  Places::Holder* holder_ = nullptr;  // the client; null if it is not known, or is loopback, or has lost the place
  bool counts_ = false;               // true while the connection has the place
  std::function<void()> give_way_;
};

}  // namespace weir
