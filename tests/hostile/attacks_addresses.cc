// What many addresses order together, each of them within what it may.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>

#include "relay/nostr/signature.h"
#include "tests/hostile/attack.h"
#include "tests/hostile/crowd.h"

namespace weir {
namespace {

using Store = std::function<void(const std::string& json)>;
using namespace std::chrono_literals;

// Of which there are 127 * 2^16.
std::string StrangerAddress(size_t n) {
  return "127." + std::to_string(1 + (n >> 16)) + "." + std::to_string(n >> 8 & 255) + "." + std::to_string(n & 255);
}

// Connections of which each comes from an address that was never seen before, says one thing, and goes when it is
// answered. The next one comes in its place.
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

void StoreNotes(double scale, const Store& store) {
  const Signer signer(31);
  for (size_t n = 0; n < Scaled(60'000, scale); ++n)
    store(signer.SignedEvent(Now() - 1 - n, 1, "[]", "note " + std::to_string(n)));
}

constexpr size_t kStrangersAtOnce = 300;

// By authors who have written nothing.
std::string FreshAddresses(Arena& arena, double scale) {
  std::string request = R"(["REQ","r",{"kinds":[0)";
  for (size_t kind = 1; kind < 20; ++kind) request += "," + std::to_string(kind);
  request += R"(],"limit":500,"authors":[)";
  for (uint64_t author = 0; author < 1000; ++author)
    request += (author == 0 ? "\"" : ",\"") + ToHex(Signer(5000 + author).pubkey()) + "\"";
  Strangers strangers(arena.port(), kStrangersAtOnce, TextFrame(request + "]}]"));
  strangers.Run(Scaled(30s, scale));
  return strangers.Heard();
}

constexpr size_t kWriters = 250;

std::string HeavyWriters(Arena& arena, double scale) {
  const size_t each = Scaled(24, scale);
  std::vector<std::string> frames(kWriters);
  for (size_t writer = 0; writer < kWriters; ++writer) {
    const Signer signer(7000 + writer);
    for (size_t n = 0; n < each; ++n) {
      const std::string tags = ManyTags('t', std::to_string(writer) + "_" + std::to_string(n) + "_", 500);
      frames[writer] += EventFrame(signer.SignedEvent(Now(), 1, tags, "heavy"));
    }
  }
  Crowd crowd(arena.port(), StrangerAddress, kWriters);
  crowd.SendOnce([&](size_t i) { return frames[i]; }, Scaled(20s, scale), Reads::kAll);
  return crowd.Heard();
}

}  // namespace

std::vector<Attack> AddressAttacks() {
  return {
      {"fresh_addresses",
       "requests of 1,000 authors and 20 kinds, 300 at once, each from an address never seen before",
       {},
       StoreNotes,
       FreshAddresses,
       8},
      {"heavy_writers",
       "250 addresses bring 24 events of 500 tags each as fast as they can",
       {},
       nullptr,
       HeavyWriters,
       8},
  };
}

}  // namespace weir
