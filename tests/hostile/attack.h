// Attack: the events that must be stored for an attack, and the messages that unknown clients then send. The messages
// are within the protocol and the relay's limits, or the relay refuses them with a reason. An attack connects only to
// this machine and ends by itself.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/hostile/arena.h"

namespace weir {

// The most memory, in MiB, by which an attack may make the relay grow: from one address, and from all addresses
// together.
constexpr double kMostOfOneMb = 64;
constexpr double kMostOfAllMb = 128;

struct Attack {
  std::string_view name;
  std::string_view does;
  std::vector<std::string> settings;
  // Stores the events of the attack. `scale` is a factor for its length and size: 1 for the whole attack, less for a
  // short trial.
  std::function<void(double scale, const std::function<void(const std::string& json)>& store)> fill;
  // Runs the attack, closes its connections, and returns a summary of the relay's answers.
  std::function<std::string(Arena& arena, double scale)> run;
  double most_mb = kMostOfOneMb;
  bool also_brief = true;
  // True if the attack makes limiters count requests. They keep the counts until the window ends. The number of counts
  // is bounded, but their memory is not released when the attackers disconnect.
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
std::vector<Attack> LinkAttacks();
std::vector<Attack> TlsAttacks();

// Returns an address from which attacks come. The quiet client has the address 127.0.0.200.
inline std::string AttackerAddress(int n = 0) { return "127.0.0." + std::to_string(66 + n); }
// Returns one of 255 * 2^16 other addresses.
inline std::string StrangerAddress(size_t n) {
  return "127." + std::to_string(1 + (n >> 16)) + "." + std::to_string(n >> 8 & 255) + "." + std::to_string(n & 255);
}

// Returns the count multiplied by `scale`, but at least 1.
inline size_t Scaled(size_t count, double scale) {
  return std::max<size_t>(1, static_cast<size_t>(static_cast<double>(count) * scale));
}
inline std::chrono::milliseconds Scaled(std::chrono::milliseconds time, double scale) {
  return std::max(std::chrono::milliseconds(1000),
                  std::chrono::milliseconds(static_cast<int64_t>(static_cast<double>(time.count()) * scale)));
}

// Sends the bytes over many connections, which are opened again and again, each for a tenth of a second.
std::string ComeAgain(Arena& arena, double scale, const std::string& bytes, size_t connections = 32);
// Returns the administrator's authorization as a header line.
std::string Authorization(const Arena& arena);
// Returns [["t","<prefix>0"],["t","<prefix>1"],…] with `count` tags.
std::string ManyTags(char letter, const std::string& prefix, size_t count);
std::string EventFrame(const std::string& json);
std::string TextFrame(const std::string& text);
// Returns a GET request of HTTP/1.1. `more` are additional header lines.
std::string Get(const std::string& target, const std::string& more = "");
std::string Post(const std::string& target, const std::string& body);
uint64_t Now();

}  // namespace weir
