// Attacks from many addresses together, each of which stays within its limits.
#include <fcntl.h>
#include <openssl/evp.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <thread>

#include "relay/nostr/signature.h"
#include "tests/hostile/attack.h"
#include "tests/hostile/crowd.h"
#include "tests/hostile/http2_bytes.h"
#include "tests/hostile/quiet_client.h"

namespace weir {
namespace {

using Store = std::function<void(const std::string& json)>;
using namespace std::chrono_literals;

// Connections that each come from a new address, send one message, and go when it is answered. The next stranger then
// takes the place.
class Strangers {
 public:
  Strangers(uint16_t port, size_t at_once, const std::string& says) : port_(port), says_(says), present_(at_once) {}

  void Run(Duration duration) {
    const auto end = std::chrono::steady_clock::now() + duration;
    std::vector<pollfd> ready(present_.size());
    while (std::chrono::steady_clock::now() < end) {
      for (size_t i = 0; i < present_.size(); ++i) {
        Stranger& stranger = present_[i];
        if (stranger.client == nullptr) Come(stranger);
        const bool sends = stranger.sent < stranger.out.size();
        ready[i] = {.fd = stranger.client == nullptr ? -1 : stranger.client->socket(),
                    .events = static_cast<short>(POLLIN | (sends ? POLLOUT : 0)),
                    .revents = 0};
      }
      poll(ready.data(), ready.size(), 10);
      for (size_t i = 0; i < present_.size(); ++i)
        if (ready[i].revents != 0) GoOn(present_[i]);
    }
  }

  std::string Heard() const {
    return std::to_string(came_) + " came, " + std::to_string(answered_) + " were answered, " +
           std::to_string(sent_away_) + " sent away";
  }

 private:
  struct Stranger {
    std::unique_ptr<RawClient> client;
    bool shook_hands = false;
    std::string out;
    size_t sent = 0;
    std::string in;
  };

  void Come(Stranger& stranger) {
    stranger = {.client = std::make_unique<RawClient>(port_, StrangerAddress(came_++)),
                .shook_hands = false,
                .out = RawClient::HandshakeRequest(),
                .sent = 0,
                .in = {}};
    if (stranger.client->connected()) {
      fcntl(stranger.client->socket(), F_SETFL, O_NONBLOCK);
    } else {
      stranger.client.reset();
      ++sent_away_;
    }
  }

  void GoOn(Stranger& stranger) {
    const int socket = stranger.client->socket();
    if (stranger.sent < stranger.out.size()) {
      const ssize_t sent =
          send(socket, stranger.out.data() + stranger.sent, stranger.out.size() - stranger.sent, MSG_NOSIGNAL);
      if (sent > 0) stranger.sent += static_cast<size_t>(sent);
    }
    char buffer[4096];
    const ssize_t bytes = recv(socket, buffer, sizeof buffer, 0);
    if (bytes > 0) stranger.in.append(buffer, static_cast<size_t>(bytes));
    if (!stranger.shook_hands && stranger.in.find("\r\n\r\n") != std::string::npos) {
      stranger.shook_hands = stranger.in.starts_with("HTTP/1.1 101");
      stranger.out = says_;
      stranger.sent = 0;
      stranger.in.clear();
    }
    const bool answered = stranger.shook_hands && stranger.in.find("[\"EOSE\"") != std::string::npos;
    const bool ended = bytes == 0 || (bytes < 0 && errno != EAGAIN);
    if (!answered && !ended) return;
    ++(answered ? answered_ : sent_away_);
    stranger.client.reset();
  }

  const uint16_t port_;
  const std::string says_;
  std::vector<Stranger> present_;
  size_t came_ = 0;
  size_t answered_ = 0;
  size_t sent_away_ = 0;
};

std::string ToBase64(const std::string& text) {
  std::string out(4 * ((text.size() + 2) / 3) + 1, '\0');  // one byte more for the zero that is written at the end
  EVP_EncodeBlock(reinterpret_cast<uint8_t*>(out.data()), reinterpret_cast<const uint8_t*>(text.data()),
                  static_cast<int>(text.size()));
  out.pop_back();
  return out;
}

// Replaces the signature by zeros.
std::string Forged(std::string event) { return event.replace(event.find("\"sig\":\"") + 7, 64, std::string(64, '0')); }

void StoreNotes(double scale, const Store& store) {
  const Signer signer(31);
  for (size_t n = 0; n < Scaled(60'000, scale); ++n)
    store(signer.SignedEvent(Now() - 1 - n, 1, "[]", "note " + std::to_string(n)));
}

constexpr size_t kStrangersAtOnce = 300;
constexpr size_t kAddresses = 250;

// Asks for authors that have no events.
std::string HeavyRequest() {
  std::string request = R"(["REQ","r",{"kinds":[0)";
  for (size_t kind = 1; kind < 20; ++kind) request += "," + std::to_string(kind);
  request += R"(],"limit":500,"authors":[)";
  for (uint64_t author = 0; author < 1000; ++author)
    request += (author == 0 ? "\"" : ",\"") + ToHex(Signer(5000 + author).pubkey()) + "\"";
  return TextFrame(request + "]}]");
}

std::string FreshAddresses(Arena& arena, double scale, const std::string& says) {
  Strangers strangers(arena.port(), kStrangersAtOnce, says);
  strangers.Run(Scaled(30s, scale));
  return strangers.Heard();
}

// From each address one connection sends the same again and again.
std::string AllSay(Arena& arena, double scale, const std::string& frame) {
  Crowd crowd(arena.port(), StrangerAddress, kAddresses);
  crowd.Run(Scaled(10s, scale), Reads::kAll, [&](size_t) { return std::string(frame); });
  return crowd.Heard();
}
std::string AllAsk(Arena& arena, double scale, const std::string& requests) {
  Crowd crowd = Crowd::Plain(arena.port(), StrangerAddress, kAddresses);
  crowd.Run(Scaled(10s, scale), Reads::kAll, [&](size_t) { return std::string(requests); });
  return std::to_string(crowd.open()) + " still open";
}

std::string HeavyWriters(Arena& arena, double scale) {
  const size_t each = Scaled(24, scale);
  std::vector<std::string> frames(kAddresses);
  for (size_t writer = 0; writer < kAddresses; ++writer) {
    const Signer signer(7000 + writer);
    for (size_t n = 0; n < each; ++n) {
      const std::string tags = ManyTags('t', std::to_string(writer) + "_" + std::to_string(n) + "_", 500);
      frames[writer] += EventFrame(signer.SignedEvent(Now(), 1, tags, "heavy"));
    }
  }
  Crowd crowd(arena.port(), StrangerAddress, kAddresses);
  crowd.SendOnce([&](size_t i) { return frames[i]; }, Scaled(20s, scale), Reads::kAll);
  return crowd.Heard();
}

// The administrator's public key, which anybody can read. The attacker does not have the private key.
constexpr uint64_t kAdmin = 0x61646d;
std::string ForgedProofs(Arena& arena, double scale) {
  std::this_thread::sleep_for(3s);  // a proof from a relay's first seconds is refused before its signature is checked
  const std::string tags = R"([["u","https://relay.example/live/state"],["method","GET"]])";
  const std::string proof = Forged(Signer(kAdmin).SignedEvent(Now() + 4, 27'235, tags, ""));
  return AllAsk(arena, scale, Get("/live/state", "Authorization: Nostr " + ToBase64(proof) + "\r\n"));
}

std::string ForgedEvents(Arena& arena, double scale) {
  return AllSay(arena, scale, EventFrame(Forged(Signer(33).SignedEvent(Now(), 1, "[]", "forged"))));
}

// The quiet client is on the operator's own list, the authors of the flood are strangers.
std::string FreshKeys(Arena& arena, double scale) {
  constexpr size_t kFreshKeys = 10'000;
  Crowd crowd(arena.port(), StrangerAddress, 100);
  uint64_t made = 0;
  crowd.Run(Scaled(30s, scale), Reads::kAll, [&](size_t) {
    ++made;
    return EventFrame(Signer(100'000 + made % kFreshKeys).SignedEvent(Now(), 1, "[]", "flood " + std::to_string(made)));
  });
  return crowd.Heard();
}

// The crowd says nothing. Newcomers must still be served, and /healthz must answer.
constexpr size_t kHouse = 2000;
std::string FullHouse(Arena& arena, double scale) {
  Crowd crowd(
      arena.port(), [](size_t n) { return StrangerAddress(n % 50); }, kHouse);
  crowd.Run(Scaled(4s, scale), Reads::kAll, [](size_t) { return std::string(); });
  std::vector<RawClient> newcomers;
  size_t served = 0;
  for (size_t n = 0; n < 20; ++n) {
    newcomers.emplace_back(arena.port(), StrangerAddress(1000 + n));
    served += newcomers.back().connected() && newcomers.back().Handshake() ? 1 : 0;
  }
  RawClient here(arena.port(), "127.0.0.1");
  here.Send("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  const auto health = here.ReadAnswer();
  if (served < newcomers.size()) arena.complaint = "newcomers are sent away";
  if (!health || health->status != 200) arena.complaint = "/healthz is not served";
  return std::to_string(served) + " of 20 newcomers were served; " + crowd.Heard();
}

std::string FiltersOfMany(Arena& arena, double scale) {
  Crowd crowd(arena.port(), StrangerAddress, Scaled(4000, scale));
  crowd.SendOnce(
      [](size_t n) {
        std::string request = R"(["REQ","f",{"limit":0,"#t":["x")";
        for (size_t value = 0; value < 600; ++value) {
          const std::string text = std::to_string(n * 600 + value);
          request += ",\"" + std::string(64 - text.size(), 'f') + text + "\"";
        }
        return TextFrame(request + "]}]");
      },
      Scaled(10s, scale), Reads::kAll);
  return crowd.Heard();
}

std::string Parts(Arena& arena, double scale, size_t addresses) {
  Crowd crowd(
      arena.port(), [&](size_t n) { return StrangerAddress(n % addresses); }, Scaled(addresses * 60, scale));
  std::string part = TextFrame(std::string(250'000, 'x')).substr(0, 200'000);
  crowd.SendOnce([&](size_t) { return part; }, Scaled(10s, scale), Reads::kAll);
  return crowd.Heard();
}

// More bytes than may be held at once: the rest has to wait, and all of it is saved.
constexpr size_t kNotesEach = 64;
std::string NotesAtOnce(Arena& arena, double scale) {
  const size_t writers = 45;
  const size_t each = std::max<size_t>(16, Scaled(kNotesEach, scale));
  std::vector<std::string> frames(writers);
  for (size_t writer = 0; writer < writers; ++writer)
    for (size_t n = 0; n < each; ++n)
      frames[writer] +=
          EventFrame(Signer(8000 + writer).SignedEvent(Now(), 1, "[]", std::to_string(n) + std::string(20'000, 'n')));
  Crowd crowd(arena.port(), StrangerAddress, writers);
  const auto saved = [&] { return crowd.heard().contains("OK true") ? crowd.heard().at("OK true") : 0; };
  crowd.SendOnce([&](size_t i) { return frames[i]; }, 1s, Reads::kAll);
  for (int seconds = 0; seconds < 60 && saved() < writers * each && crowd.open() == writers; ++seconds)
    crowd.Run(1s, Reads::kAll, [](size_t) { return std::string(); });
  if (saved() < writers * each) arena.complaint = "not all notes were saved";
  return crowd.Heard();
}

std::string WatchesOfMany(Arena& arena, double scale) {
  Crowd crowd = Crowd::Plain(
      arena.port(), [](size_t n) { return StrangerAddress(n % 100); }, Scaled(400, scale));
  std::string all(kHttp2Preface);
  all += Http2Frame(kSettings, 0, 0, "");
  for (uint32_t n = 0; n < 127; ++n) {
    all += Http2Frame(kHeaders, kEndsHeaders, 2 * n + 1, GrpcBlock("/grpc.health.v1.Health/Watch"));
    all += Http2Frame(kData, kEndsStream, 2 * n + 1, GrpcBytes(""));
  }
  crowd.SendOnce([&](size_t) { return all; }, Scaled(8s, scale), Reads::kAll);
  return std::to_string(crowd.open()) + " still open";
}

// Connects and disconnects as often as possible.
std::string ConnectsOfMany(Arena& arena, double scale) {
  const auto end = std::chrono::steady_clock::now() + Scaled(10s, scale);
  size_t connected = 0;
  while (std::chrono::steady_clock::now() < end) connected += Crowd(arena.port(), StrangerAddress, kAddresses).size();
  return std::to_string(connected) + " handshakes";
}

// Orders much, and leaves before it is served.
std::string DroppedSubscriptions(Arena& arena, double scale) {
  std::string frames;
  for (size_t n = 0; n < 40; ++n) {
    frames += TextFrame("[\"REQ\",\"d" + std::to_string(n) + R"(",{"limit":0,"#t":[")" + std::to_string(n) +
                        std::string(200'000, 'd') + "\"]}]");
    if (n % 2 == 0) frames += TextFrame("[\"CLOSE\",\"d" + std::to_string(n) + "\"]");
  }
  const auto end = std::chrono::steady_clock::now() + Scaled(10s, scale);
  size_t connections = 0;
  while (std::chrono::steady_clock::now() < end) {
    Crowd crowd(
        arena.port(), [](size_t n) { return AttackerAddress(static_cast<int>(n)); }, 4);
    crowd.SendOnce([&](size_t) { return frames; }, 500ms, Reads::kAll);
    connections += crowd.size();
  }
  return std::to_string(connections) + " connections";
}

}  // namespace

std::vector<Attack> AddressAttacks() {
  const auto of_many = [](std::string_view name, std::string_view does, auto run) {
    return Attack{.name = name, .does = does, .run = run, .most_mb = kMostOfAllMb};
  };
  const auto among_notes = [](std::string_view name, std::string_view does, auto run) {
    return Attack{.name = name, .does = does, .fill = StoreNotes, .run = run, .most_mb = kMostOfAllMb};
  };
  const auto fresh = [](const std::string& says) {
    return [says](Arena& arena, double scale) { return FreshAddresses(arena, scale, says); };
  };
  const auto say = [](const std::string& frame) {
    return [frame](Arena& arena, double scale) { return AllSay(arena, scale, frame); };
  };
  const auto parts = [](size_t addresses) {
    return [addresses](Arena& arena, double scale) { return Parts(arena, scale, addresses); };
  };
  std::vector<Attack> attacks = {
      among_notes("fresh_addresses",
                  "requests of 1,000 authors and 20 kinds, 300 at once, each from an address never seen before",
                  fresh(HeavyRequest())),
      among_notes("fresh_light", "requests of one author, 300 at once, each from an address never seen before",
                  fresh(TextFrame(R"(["REQ","r",{"authors":[")" + std::string(64, 'a') + "\"]}]"))),
      among_notes("heavy_readers", "250 addresses ask for 1,000 authors and 20 kinds again and again",
                  say(HeavyRequest())),
      of_many("heavy_writers", "250 addresses bring 24 events of 500 tags each as fast as they can", HeavyWriters),
      of_many("notes_at_once", "45 addresses bring 2,880 notes of 20 KB at a memory target of 128 MiB", NotesAtOnce),
      of_many("fresh_keys", "100 addresses bring events of 10,000 fresh keys as fast as they can, to a slow disk",
              FreshKeys),
      of_many("forged_events", "250 addresses of forged events", ForgedEvents),
      of_many("forged_proofs", "250 addresses show forged NIP-98 proofs of the administrator", ForgedProofs),
      of_many("closes_of_many", "250 addresses close what is not open", say(TextFrame(R"(["CLOSE","a"])"))),
      of_many("pages_of_many", "250 addresses ask for /metrics and the landing page",
              [](Arena& arena, double scale) { return AllAsk(arena, scale, Get("/metrics") + Get("/")); }),
      of_many("full_house", "50 addresses take all 2,000 connections and say nothing", FullHouse),
      of_many("filters_of_many", "4,000 addresses subscribe to 40 KB of values each", FiltersOfMany),
      {"unfinished_messages",
       "60 connections bring 200 KB of messages that they do not complete",
       {},
       nullptr,
       parts(1)},
      of_many("unfinished_of_many", "the same from 100 addresses with 60 connections each", parts(100)),
      of_many("watches_of_many", "100 addresses begin 50,800 watches", WatchesOfMany),
      of_many("connects_of_many", "250 addresses come and go as fast as they can", ConnectsOfMany),
      of_many("dropped_subscriptions", "4 addresses subscribe to 8 MB each, and close half of it or hang up",
              DroppedSubscriptions),
  };
  for (Attack& attack : attacks) {
    // In CI these four stand for all.
    attack.also_brief = attack.name == "fresh_addresses" || attack.name == "full_house" ||
                        attack.name == "filters_of_many" || attack.name == "unfinished_of_many";
    if (attack.name == "notes_at_once") attack.settings = {"WEIR_RATE_LIMIT_TARGET_MEMORY_MB=128"};
    if (attack.name == "fresh_keys")
      attack.settings = {"WEIR_LADDER=on", "WEIR_TRUST_FROM=" + ToHex(Signer(kQuietSeed).pubkey()),
                         "WEIR_DB_IO_MB_PER_S=6"};
    if (attack.name == "forged_proofs") attack.settings = {"WEIR_RELAY_ADMIN_PUBKEY=" + ToHex(Signer(kAdmin).pubkey())};
    if (attack.name == "full_house") attack.settings = {"WEIR_MAX_CONNECTIONS=" + std::to_string(kHouse)};
  }
  return attacks;
}

}  // namespace weir
