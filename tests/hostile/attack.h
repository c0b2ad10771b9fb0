// An attack: the events that must be stored for it, and the messages that strangers then send. All of it is within the
// protocol and the relay's limits, or is refused with a reason. An attack goes to this machine only and ends by itself.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/hostile/arena.h"

namespace weir {

// In MiB, how much an attack may make the relay grow: from one address, and from any number of addresses together.
constexpr double kMostOfOneMb = 64;
constexpr double kMostOfAllMb = 128;

struct Attack {
  std::string_view name;
  std::string_view does;
  std::vector<std::string> settings;
  // `scale` shortens and thins the attack: 1 for all of it, less for a short look.
  std::function<void(double scale, const std::function<void(const std::string& json)>& store)> fill;
  // Returns a summary of the relay's answers. Its connections are closed when it returns.
  std::function<std::string(Arena& arena, double scale)> run;
  double most_mb = kMostOfOneMb;
  bool also_brief = true;
  // Limiters keep their counts until the window ends. These are bounded in number, but not given back when the
  // attackers are gone.
  bool is_counted = false;
  bool by_tls = false;
  // `config` becomes {dir}/config/limits.yaml, which a setting may name. `limits` are shell commands that run before
  // the relay starts.
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

// Attacks come from these addresses; the quiet client is 127.0.0.200.
inline std::string AttackerAddress(int n = 0) { return "127.0.0." + std::to_string(66 + n); }
// There are 255 * 2^16 of these addresses.
inline std::string StrangerAddress(size_t n) {
  return "127." + std::to_string(1 + (n >> 16)) + "." + std::to_string(n >> 8 & 255) + "." + std::to_string(n & 255);
}

// Scales a count, to at least one.
inline size_t Scaled(size_t count, double scale) {
  return std::max<size_t>(1, static_cast<size_t>(static_cast<double>(count) * scale));
}
inline std::chrono::milliseconds Scaled(std::chrono::milliseconds time, double scale) {
  return std::max(std::chrono::milliseconds(1000),
                  std::chrono::milliseconds(static_cast<int64_t>(static_cast<double>(time.count()) * scale)));
}

// Sends the bytes of HTTP from connections that come again and again, each for a tenth of a second.
std::string ComeAgain(Arena& arena, double scale, const std::string& bytes, size_t connections = 32);
// The administrator's authorization, as a header line.
std::string Authorization(const Arena& arena);
// [["t","<prefix>0"],["t","<prefix>1"],…
std::string ManyTags(char letter, const std::string& prefix, size_t count);
std::string EventFrame(const std::string& json);
std::string TextFrame(const std::string& text);
// A request of HTTP/1.1. `more` are additional header lines.
std::string Get(const std::string& target, const std::string& more = "");
std::string Post(const std::string& target, const std::string& body);
uint64_t Now();

}  // namespace weir
