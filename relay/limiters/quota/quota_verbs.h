// The verbs of `weir quota`: the arguments that each takes, and the call that it makes.
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

// The arguments of all verbs together.
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
  std::string text = "-";
};

// A positional argument, an option or a flag, and the key that it has in the body of the call.
struct QuotaArgument {
  using Text = std::string QuotaFlags::*;
  using Number = std::optional<int64_t> QuotaFlags::*;
  using Flag = bool QuotaFlags::*;

  const char* name;
  std::variant<Text, Number, Flag> value;
  const char* meaning;
  std::string_view key = "";  // empty: it is not in the body
  bool required = false;
  int64_t min = 0;
  int64_t max = kMostAmount;
};

struct QuotaVerb {
  std::string_view name;
  std::string_view meaning;
  std::string_view footer;  // further notes, then examples
  std::array<const QuotaArgument*, 9> arguments{};
  void (*add_more)(CommandLine& line, QuotaFlags& flags) = nullptr;  // adds arguments that the table cannot express
  std::optional<QuotaRoute::Call> call{};          // empty: the verb makes no call, but does something of its own
  std::optional<QuotaRoute::Call> call_for_all{};  // if no model is named
  std::string_view yes{};                          // the word for a call that was allowed or done

  void AddTo(CommandLine& line, QuotaFlags& flags) const;
  // Call it only if there is a call.
  QuotaQuestion Question(const QuotaFlags& flags) const;
};
std::span<const QuotaVerb> QuotaVerbs();

}  // namespace weir
