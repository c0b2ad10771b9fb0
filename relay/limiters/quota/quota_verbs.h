// The verbs of `weir quota` (decide, reserve, stats, …): the arguments of each verb, and the call of the quota API that
// it makes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "config/command_line.h"
#include "relay/limiters/quota/quota_client.h"

namespace weir {

// The values of the arguments of all verbs. Each verb uses some of them.
struct QuotaFlags {
  std::optional<std::string> gate;
  std::optional<std::string> store;
  double timeout_seconds = 5;
  bool json = false;

  std::string model;
  std::string reservation;
  std::optional<int64_t> tokens, prompt, output;
  std::optional<int64_t> ttl_seconds;
  bool charge = false;
  bool partial = false;
  std::string idempotency_key;
  std::string user, tenant, api_key, instance, qos;
  std::optional<int64_t> rpm, tpm, rpd;
  bool all = false;
  std::string from, to;
  bool force = false;
  double interval_seconds = 1;
  std::optional<uint64_t> times;
  std::string text = "-";  // "-": standard input
};

// An argument of a verb: positional, an option with a value, or a flag.
struct QuotaArgument {
  using Text = std::string QuotaFlags::*;
  using Number = std::optional<int64_t> QuotaFlags::*;
  using Flag = bool QuotaFlags::*;

  const char* name;
  std::variant<Text, Number, Flag> value;
  const char* meaning;
  std::string_view key = "";  // the argument's name in the body of the call; empty: it is not in the body
  bool required = false;
  int64_t min = 0;  // `min` and `max` are only for numbers
  int64_t max = kMostAmount;
};

struct QuotaVerb {
  std::string_view name;
  std::string_view meaning;
  std::string_view footer;                          // the end of the help: notes and examples
  std::array<const QuotaArgument*, 9> arguments{};  // null beyond the last one
  // Adds arguments and checks that a QuotaArgument cannot express; null if the verb has none.
  void (*add_more)(CommandLine& line, QuotaFlags& flags) = nullptr;
  std::optional<QuotaRoute::Call> call{};          // nullopt: a function of its own runs it (migrate, watch, count)
  std::optional<QuotaRoute::Call> call_for_all{};  // the call if the arguments name no model; nullopt: `call`
  std::string_view yes{};                          // the word for success in the output, for example "reserved"

  // Adds the arguments of the verb to the command line.
  void AddTo(CommandLine& line, QuotaFlags& flags) const;
  // Returns the verb's question for a QuotaClient. REQUIRES: the verb has a `call`.
  QuotaQuestion Question(const QuotaFlags& flags) const;
};
std::span<const QuotaVerb> QuotaVerbs();

}  // namespace weir
