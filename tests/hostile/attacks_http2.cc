// Attacks by HTTP/2 beside plain requests, and by the pieces in which it comes.
#include "tests/hostile/attack.h"
#include "tests/hostile/crowd.h"
#include "tests/hostile/http2_bytes.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr char kPriority = 2;
constexpr char kReset = 3;
constexpr char kPing = 6;
constexpr char kWindow = 8;
constexpr char kContinuation = 9;
constexpr char kUnknown = 32;
constexpr uint32_t kStreams = 127;

const std::string kBegin = std::string(kHttp2Preface) + Http2Frame(kSettings, 0, 0, "");
const std::string kZero(4, '\0');
const std::string kOne("\0\0\0\1", 4);

// Sends frames on each connection every tenth of a second, so few that no bound on frames is reached.
std::string InTime(Arena& arena, double scale, const std::string& begin,
                   const std::function<std::string(uint32_t tenth)>& frames) {
  Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), 190);
  crowd.SendOnce([&](size_t) { return begin; }, 100ms, Reads::kAll);
  const auto end = std::chrono::steady_clock::now() + Scaled(8s, scale);
  for (uint32_t tenth = 0; std::chrono::steady_clock::now() < end; ++tenth)
    crowd.SendOnce([&](size_t) { return frames(tenth); }, 100ms, Reads::kAll);
  return std::to_string(crowd.open()) + " still open";
}

std::string RequestsAndResets(uint32_t first, uint32_t count) {
  std::string all;
  for (uint32_t n = first; n < first + count; ++n)
    all += Http2Frame(kHeaders, kWholeRequest, 2 * n + 1, HeaderBlock("/metrics")) +
           Http2Frame(kReset, 0, 2 * n + 1, kZero);
  return all;
}

std::string RapidResets(Arena& arena, double scale) {
  return ComeAgain(arena, scale, kBegin + RequestsAndResets(0, 2000));
}
std::string SlowResets(Arena& arena, double scale) {
  return InTime(arena, scale, kBegin, [](uint32_t tenth) { return RequestsAndResets(80 * tenth, 80); });
}

// A header that never ends.
std::string Continuations(Arena& arena, double scale) {
  std::string all = kBegin + Http2Frame(kHeaders, kEndsStream, 1, HeaderBlock("/"));
  for (int n = 0; n < 1000; ++n) all += Http2Frame(kContinuation, 0, 1, std::string(100, '\x82'));
  return ComeAgain(arena, scale, all);
}

std::string IdleFrames(Arena& arena, double scale) {
  std::string all = kBegin;
  for (int n = 0; n < 400; ++n)
    all += Http2Frame(kPing, 0, 0, kZero + kZero) + Http2Frame(kSettings, 0, 0, "") +
           Http2Frame(kPriority, 0, 1, kZero + "\1") + Http2Frame(kWindow, 0, 0, kOne) +
           Http2Frame(kUnknown, 0, 0, "unknown");
  return ComeAgain(arena, scale, all);
}

// Reads 127 long answers, a byte at a time.
std::string SmallWindows(Arena& arena, double scale) {
  std::string begin = std::string(kHttp2Preface) + Http2Frame(kSettings, 0, 0, std::string("\0\4\0\0\0\0", 6));
  for (uint32_t n = 0; n < kStreams; ++n)
    begin += Http2Frame(kHeaders, kWholeRequest, 2 * n + 1, HeaderBlock("/metrics"));
  return InTime(arena, scale, begin, [](uint32_t tenth) {
    std::string all;
    for (uint32_t n = 0; n < 80; ++n) all += Http2Frame(kWindow, 0, 2 * ((80 * tenth + n) % kStreams) + 1, kOne);
    return all;
  });
}

// Sends bodies of a known route, a byte at a time.
std::string SlowBodies(Arena& arena, double scale) {
  std::string begin = kBegin;
  std::string bytes;
  for (uint32_t n = 0; n < kStreams; ++n) {
    begin += Http2Frame(kHeaders, kEndsHeaders, 2 * n + 1, PostBlock("/v1/record"));
    bytes += Http2Frame(kData, 0, 2 * n + 1, "{");
  }
  return InTime(arena, scale, begin, [&](uint32_t) { return bytes; });
}

// Each upgrade takes over a connection of HTTP/1.1.
std::string Upgrades(Arena& arena, double scale) {
  return ComeAgain(
      arena, scale,
      Get("/metrics", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"));
}

std::string WantedBodies(Arena& arena, double scale) {
  Crowd crowd = Crowd::Plain(arena.port(), AttackerAddress(), 190);
  const std::string all = Post("/v1/record", std::string(1 << 20, 'b'));
  crowd.SendOnce([&](size_t) { return all.substr(0, all.size() - 1); }, Scaled(8s, scale), Reads::kAll);
  return std::to_string(crowd.open()) + " still open";
}

}  // namespace

std::vector<Attack> Http2Attacks() {
  return {
      {"http2_rapid_resets", "32 connections at a time reset 2,000 requests each", {}, nullptr, RapidResets},
      {"http2_slow_resets",
       "190 connections reset 800 requests a second each",
       {},
       nullptr,
       SlowResets,
       kMostOfOneMb,
       false},
      {"http2_continuations",
       "32 connections at a time of a header without end",
       {},
       nullptr,
       Continuations,
       kMostOfOneMb,
       false},
      {"http2_idle_frames",
       "32 connections at a time of frames that ask for nothing",
       {},
       nullptr,
       IdleFrames,
       kMostOfOneMb,
       false},
      {"http2_small_windows",
       "190 connections take 127 answers each by the byte",
       {},
       nullptr,
       SmallWindows,
       kMostOfOneMb,
       false},
      {"http2_slow_bodies",
       "190 connections of 127 bodies that come by the byte",
       {"WEIR_QUOTA_API=all"},
       nullptr,
       SlowBodies,
       kMostOfOneMb,
       false},
      {"http2_upgrades", "32 connections at a time that upgrade to HTTP/2", {}, nullptr, Upgrades, kMostOfOneMb, false},
      {"wanted_bodies", "190 posts of 1 MiB that do not end", {"WEIR_QUOTA_API=all"}, nullptr, WantedBodies},
  };
}

}  // namespace weir
