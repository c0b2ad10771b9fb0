// An attack: what has to be stored for it, and what strangers then send. All of it is within the protocol and within
// the relay's limits, or is told why not; it goes to this machine only and ends by itself.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/hostile/arena.h"

namespace weir {

// In MiB, what an attack may make the relay grow by: an address alone, and all addresses together, however many.
constexpr double kMostOfOneMb = 64;
constexpr double kMostOfAllMb = 128;

struct Attack {
  std::string_view name;
  std::string_view does;
  std::vector<std::string> settings;
  // `scale` is 1, or less for a short look: it shortens and thins the attack.
  std::function<void(double scale, const std::function<void(const std::string& json)>& store)> fill;
  // Returns what the relay said to it. Its connections are closed when it returns.
  std::function<std::string(Arena& arena, double scale)> run;
  double most_mb = kMostOfOneMb;
  bool also_brief = true;
  // What limiters count is kept until its window ends: it is bounded in number, and not given back when the attackers
  // are gone.
  bool is_counted = false;
  bool by_tls = false;
  // What stands in {dir}/config/limits.yaml, which a setting may name; commands of the shell before the relay starts.
  std::string_view config = {};
  std::string_view limits = {};
};

std::vector<Attack> WriteAttacks();
std::vector<Attack> ReadAttacks();
std::vector<Attack> LiveAttacks();
std::vector<Attack> AddressAttacks();
std::vector<Attack> FrameAttacks();
std::vector<Attack> FloodAttacks();
std::vector<Attack> Http2Attacks();
std::vector<Attack> LimiterAttacks();
std::vector<Attack> TlsAttacks();

// Where attacks come from; the quiet client is 127.0.0.200.
inline std::string AttackerAddress(int n = 0) { return "127.0.0." + std::to_string(66 + n); }
// Of which there are 127 * 2^16.
inline std::string StrangerAddress(size_t n) {
  return "127." + std::to_string(1 + (n >> 16)) + "." + std::to_string(n >> 8 & 255) + "." + std::to_string(n & 255);
}

// At least one.
inline size_t Scaled(size_t count, double scale) {
  return std::max<size_t>(1, static_cast<size_t>(static_cast<double>(count) * scale));
}
inline std::chrono::milliseconds Scaled(std::chrono::milliseconds time, double scale) {
  return std::max(std::chrono::milliseconds(1000),
                  std::chrono::milliseconds(static_cast<int64_t>(static_cast<double>(time.count()) * scale)));
}

// As bytes of HTTP, from connections that come again and again, each a tenth of a second long.
std::string ComeAgain(Arena& arena, double scale, const std::string& bytes, size_t connections = 32);
// The administrator's, as a line of a header.
std::string Authorization(const Arena& arena);
// [["t","<prefix>0"],["t","<prefix>1"],…
std::string ManyTags(char letter, const std::string& prefix, size_t count);
std::string EventFrame(const std::string& json);
std::string TextFrame(const std::string& text);
// Of HTTP/1.1; `more` are lines of the header.
std::string Get(const std::string& target, const std::string& more = "");
std::string Post(const std::string& target, const std::string& body);
uint64_t Now();

}  // namespace weir
