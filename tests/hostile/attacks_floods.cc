// Floods of messages that are small, large, wrong or slow, and answers that no client reads.
#include "relay/nostr/signature.h"
#include "tests/hostile/attack.h"
#include "tests/hostile/crowd.h"

namespace weir {
namespace {

using Store = std::function<void(const std::string& json)>;
using Run = std::function<std::string(Arena& arena, double scale)>;
using namespace std::chrono_literals;

constexpr const char* kHandshake =
    "GET / HTTP/1.1\r\nHost: relay.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

void StoreLongNotes(double scale, const Store& store) {
  const Signer signer(41);
  for (size_t n = 0; n < Scaled(20'000, scale); ++n)
    store(signer.SignedEvent(Now() - 1 - n, 1, "[]", std::string(600, 'n') + std::to_string(n)));
}

// Sends as fast as the relay takes it, for as long as the connections stay open.
Run Again(const std::string& frames, Reads reads = Reads::kAll) {
  return [=](Arena& arena, double scale) {
    Crowd crowd(arena.port(), AttackerAddress(), 64);
    crowd.Run(Scaled(8s, scale), reads, [&](size_t) { return std::string(frames); });
    return crowd.Heard();
  };
}

// Connections that are closed for their messages, and come again.
Run Wrong(const std::string& frames) {
  return [=](Arena& arena, double scale) { return ComeAgain(arena, scale, kHandshake + frames); };
}

// Sends a byte every tenth of a second.
Run Slowly(const std::string& bytes) {
  return [=](Arena& arena, double scale) {
    Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), 190);
    const auto end = std::chrono::steady_clock::now() + Scaled(12s, scale);
    for (size_t n = 0; std::chrono::steady_clock::now() < end; ++n)
      crowd.SendOnce([&](size_t) { return bytes.substr(n % bytes.size(), 1); }, 100ms, Reads::kAll);
    return std::to_string(crowd.open()) + " still open";
  };
}

std::string FanOut(Arena& arena, double scale) {
  Crowd subscribers(arena.port(), AttackerAddress(), 100);
  Crowd publisher(arena.port(), AttackerAddress(1), 1);
  std::string requests;
  for (int n = 0; n < 20; ++n) requests += TextFrame("[\"REQ\",\"f" + std::to_string(n) + R"(",{"kinds":[20004]}])");
  subscribers.SendOnce([&](size_t) { return requests; }, 1s, Reads::kAll);
  const Signer signer(42);
  const auto end = std::chrono::steady_clock::now() + Scaled(8s, scale);
  for (size_t n = 0; std::chrono::steady_clock::now() < end; ++n) {
    std::string event = EventFrame(signer.SignedEvent(Now(), 20'004, "[]", std::to_string(n)));
    publisher.SendOnce([&](size_t) { return event; }, 2ms, Reads::kAll);
    subscribers.Run(2ms, Reads::kAll, [](size_t) { return std::string(); });
  }
  return subscribers.Heard();
}

std::string Times(size_t count, const std::string& text) {
  std::string all;
  for (size_t n = 0; n < count; ++n) all += text;
  return all;
}

}  // namespace

std::vector<Attack> FloodAttacks() {
  // In CI, tests of the server stand for these.
  const auto long_only = [](Attack attack) {
    attack.also_brief = false;
    return attack;
  };
  const auto flood = [](std::string_view name, std::string_view does, Run run) {
    return Attack{.name = name, .does = does, .run = std::move(run)};
  };
  Attack never_read = flood("never_read", "64 connections ask for 5,000 notes again and again, and read nothing",
                            Again(TextFrame(R"(["REQ","n",{"limit":5000}])"), Reads::kNothing));
  never_read.fill = StoreLongNotes;
  Attack unread_pings = flood("unread_pings", "64 connections ping without pause and read no pong",
                              Again(Times(100, ClientFrame(kPing, std::string(125, 'p'))), Reads::kNothing));
  unread_pings.also_brief = false;
  Attack fan_out = flood("fan_out", "2,000 subscriptions to one flood, on 100 connections that read", FanOut);
  fan_out.most_mb = kMostOfAllMb;
  fan_out.also_brief = false;
  return {
      never_read,
      unread_pings,
      fan_out,
      flood("requests_closed", "64 connections ask and close at once, 100 at a time",
            Again(Times(100, TextFrame(R"(["REQ","a",{"limit":1}])") + TextFrame(R"(["CLOSE","a"])")))),
      long_only(flood("big_frames", "64 connections of messages of 200 KB that close what is not open",
                      Again(TextFrame("[\"CLOSE\",\"" + std::string(200'000, 'b') + "\"]")))),
      long_only(flood("bad_messages", "32 connections at a time of messages that are none",
                      Wrong(Times(200, TextFrame("[1]"))))),
      long_only(
          flood("nested", "32 connections at a time of 100,000 brackets", Wrong(TextFrame(std::string(100'000, '['))))),
      long_only(flood("bad_utf8", "32 connections at a time of bytes that are no text",
                      Wrong(TextFrame(std::string(60'000, '\xff'))))),
      long_only(flood("slow_requests", "190 connections whose header comes by the byte",
                      Slowly("GET / HTTP/1.1\r\nHost: relay.example\r\nX-Slow: " + std::string(200, 's')))),
      long_only(
          flood("slow_frames", "190 connections whose handshake and frames come by the byte", Slowly(kHandshake))),
  };
}

}  // namespace weir
