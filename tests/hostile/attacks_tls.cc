// Attacks on a port that speaks TLS, before and below the messages.
#include <thread>

#include "tests/fixtures/tls_client.h"
#include "tests/hostile/attack.h"
#include "tests/hostile/crowd.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// Clients that each do the same again and again, on a new connection each time. Returns how often.
std::string Clients(double scale, size_t count, const std::function<bool()>& act) {
  const auto end = std::chrono::steady_clock::now() + Scaled(8s, scale);
  std::atomic<size_t> done{0};
  std::vector<std::jthread> threads;
  for (size_t n = 0; n < count; ++n) {
    threads.emplace_back([&] {
      while (std::chrono::steady_clock::now() < end) done += act() ? 1 : 0;
    });
  }
  threads.clear();
  return std::to_string(done) + " times";
}

// Returns the first bytes of a client.
std::string Hello(Arena& arena) {
  std::string hello;
  TlsClient client(arena.port(), {.protocols = "h2 http/1.1", .send = [&](RawClient& raw, std::string_view bytes) {
                                    hello += bytes;
                                    raw.Reset();
                                  }});
  client.ShakeHands();
  return hello;
}

std::string Handshakes(Arena& arena, double scale) {
  return Clients(scale, 4, [&] {
    TlsClient client(arena.port(), {.from = AttackerAddress()});
    return client.ShakeHands();
  });
}

// The relay answers each hello with keys and a certificate; the client never continues.
std::string HellosAlone(Arena& arena, double scale) {
  const std::string hello = Hello(arena);
  const auto end = std::chrono::steady_clock::now() + Scaled(8s, scale);
  size_t connections = 0;
  while (std::chrono::steady_clock::now() < end) {
    Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), 190);
    crowd.SendOnce([&](size_t) { return std::string(hello); }, 200ms, Reads::kNothing);
    connections += crowd.size();
  }
  return std::to_string(connections) + " connections";
}

std::string SlowHellos(Arena& arena, double scale) {
  const std::string hello = Hello(arena);
  Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), 190);
  std::vector<size_t> sent(crowd.size());
  crowd.Run(Scaled(12s, scale), Reads::kAll,
            [&](size_t i) { return sent[i] + 1 < hello.size() ? hello.substr(sent[i]++, 1) : std::string(); });
  return std::to_string(crowd.open()) + " still open";
}

std::string NewKeys(Arena& arena, double scale) {
  return Clients(scale, 1, [&] {
    TlsClient client(arena.port(), {.from = AttackerAddress()});
    if (!client.ShakeHands()) return false;
    for (int n = 0; n < 1000 && client.UpdateKey(); ++n) {
    }
    return true;
  });
}

// Sends each byte of a request in a record of its own.
std::string SmallRecords(Arena& arena, double scale) {
  return Clients(scale, 4, [&] {
    TlsClient client(arena.port(), {.from = AttackerAddress()});
    if (!client.ShakeHands()) return false;
    for (const char c : std::string_view("GET /healthz HTTP/1.1\r\nHost: relay.example\r\n\r\n"))
      if (!client.Send(std::string_view(&c, 1))) return false;
    return !client.ReadSome().empty();
  });
}

}  // namespace

std::vector<Attack> TlsAttacks() {
  const auto attack = [](std::string_view name, std::string_view does, auto run) {
    return Attack{.name = name, .does = does, .run = run, .by_tls = true};
  };
  return {
      attack("tls_handshakes", "4 clients that shake hands and go", Handshakes),
      attack("tls_hellos", "190 connections at a time that say hello and no more", HellosAlone),
      attack("tls_slow_hellos", "190 connections that say it by the byte", SlowHellos),
      attack("tls_new_keys", "a client that wants new keys again and again: each costs it as much", NewKeys),
      attack("tls_small_records", "4 clients of requests of one byte a record", SmallRecords),
  };
}

}  // namespace weir
