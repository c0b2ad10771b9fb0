// The verbs of `weir quota` (decide, reserve, stats, …): the arguments of each verb, and the call of the quota API that
// it makes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/command_line.h"
#include "relay/limiters/quota/quota_call_reader.h"
#include "relay/limiters/quota/quota_client.h"

namespace weir {

// The values of the arguments of all verbs. Each verb uses some of them.
struct QuotaFlags {
  std::optional<std::string> gate;
  std::optional<std::string> store;
  double timeout_seconds = 5;
  bool json = false;

  QuotaCallBody body;  // also has the model if it is in the path of the call, or if the verb makes no call
  bool all = false;
  std::string from, to;
  bool force = false;
  double interval_seconds = 1;
  std::optional<uint64_t> times;
  std::string text = "-";  // "-": standard input

  std::string model() const { return body.model.value_or(""); }
};

// An argument that sets a member of QuotaFlags::body: positional, an option with a value, or a flag. KeyOf(member) has
// its bounds, and its name in the body of a call.
struct QuotaArgument {
  const char* name;
  QuotaKey::Member member;
  const char* meaning;
  bool required = false;
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
