// The verbs of `weir quota`: what each takes on the command line, and what it asks of whom.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "relay/gate/quota_client.h"

namespace CLI {  // NOLINT(readability-identifier-naming): its own name
class App;
}

namespace weir {

// Of all verbs together.
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
  std::string user, tenant, api_key, instance, qos;
  std::optional<int64_t> rpm, tpm, rpd;
  bool all = false;
  std::string from, to;
  bool force = false;
  double interval_seconds = 1;
  std::optional<uint64_t> times;
  std::string text = "-";
};

struct QuotaVerb {
  std::string_view name;
  std::string_view meaning;
  std::string_view footer;  // examples, after what else is to be said
  void (*add)(CLI::App& app, QuotaFlags& flags);
  QuotaQuestion (*question)(const QuotaFlags& flags) = nullptr;  // null: the verb does something of its own
  std::string_view yes;                                          // a decision's, a settlement's
};
std::span<const QuotaVerb> QuotaVerbs();

}  // namespace weir
