#include "relay/limiters/keyed/keyed_settings.h"

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "config/text/in_words.h"
#include "config/text/parse.h"
#include "relay/limiters/config_file.h"

namespace weir {
namespace {

void ReadCount(const YamlValue& value, NumberRange range, uint32_t* count) {
  uint64_t number = *count;
  value.Read(&number, range);
  *count = static_cast<uint32_t>(number);
}

void ReadLimits(YamlMap& map, KeyedLimits* limits) {
  uint32_t window_millis = limits->window.count();
  ReadCount(map.Optional("window_millis"),
            {.min = static_cast<double>(kMinKeyedWindow.count()),
             .max = static_cast<double>(std::chrono::milliseconds(kMaxKeyedWindow).count()),
             .unit = "ms"},
            &window_millis);
  limits->window = decltype(limits->window)(window_millis);
  ReadCount(map.Optional("max_requests"), {.min = 0, .max = kMostKeyedRequests, .unit = "requests in a window"},
            &limits->max_requests);
  ReadCount(map.Optional("max_requests_in_queue"), {.min = 0, .max = kMostKeyedWaiting, .unit = "requests"},
            &limits->max_waiting);
  map.Optional("window").Read(&limits->kind, {{"fixed", WindowKind::kFixed}, {"sliding", WindowKind::kSliding}});
  map.Optional("shared").Read(&limits->shared);
}

void CheckShared(const YamlValue& at, bool shares, const KeyedLimits& limits) {
  if (!shares || !limits.shared || CanBeShared(limits)) return;
  const std::string what =
      limits.kind == WindowKind::kSliding ? "a sliding window" : "a window below " + InWords(kMinSharedWindow);
  at.Error(what + " cannot be shared (WEIR_KEYED_STORE); say shared: false, and each server counts it by itself");
}

// Adds the rule. If it is wrong by itself, reports that as an error of `at`, the rule's place in the file.
void AddRule(const YamlValue& at, bool shares, KeyedRules::Rule rule, std::vector<KeyedRules::Rule>* rules) {
  CheckShared(at, shares, rule.limits);
  if (!rule.is_pattern && rule.key.size() > kMostKeyBytes)
    return at.Error("the key has " + std::to_string(rule.key.size()) + " bytes, expected at most " +
                    std::to_string(kMostKeyBytes));
  if (const auto made = KeyedRules::Make({}, {rule}); !made.ok()) return at.Error(made.status().message());
  rules->push_back(std::move(rule));
}

std::string Summary(const KeyedLimits& others, size_t keys, size_t patterns) {
  return std::to_string(others.max_requests) + " requests in " + InWords(others.window) + " for every key but " +
         std::to_string(keys) + " keys and " + std::to_string(patterns) + " patterns with limits of their own";
}

}  // namespace

void Declare(SettingTable& table, KeyedSettings& s) {
  table.Add<ServedKeyedApi>(
      "KEYED_API", &s.api,
      {{"off", ServedKeyedApi::kOff}, {"admins", ServedKeyedApi::kAdmins}, {"all", ServedKeyedApi::kAll}},
      "access to /rate/{key} on this port (each key has a window of requests): off, admins (administrators only) or "
      "all; the default of `weir gate` is all");
  table.AddSecret("KEYED_STORE", &s.store,
                  "where the windows of keys are counted: memory (each process by itself), or for many machines "
                  "redis://HOST:PORT, redis-sentinel://… or redis-cluster://… (WEIR_QUOTA_REDIS_… apply to it too)",
                  WithoutPassword);
  table.Add<WhenAway>("KEYED_WHEN_STORE_AWAY", &s.when_store_away,
                      {{"local", WhenAway::kAlone}, {"refuse", WhenAway::kRefuse}},
                      "what happens while WEIR_KEYED_STORE does not answer. local: each process counts by itself, up "
                      "to the limit. refuse: requests get 503, and requests that may wait go on waiting");
  table.Add("KEYED_OVERRIDES", &s.overrides,
            "whether a request may bring a key's limits with it (?maxRequests, ?maxRequestsInQueue)");
  table.Add("KEYED_SHARDS", &s.shards, {.min = 1, .max = 1024}, "parts into which the keys are spread");
  table.Add(
      "KEYED_MAX_KEYS", &s.max_keys, {.min = 1, .max = 1e9},
      "keys held at once, 256 bytes each (a name above 80 bytes, a sliding window and grants given back take more). "
      "The last quarter is kept for clients with few keys; requests for further keys get 503");
  table.Add("KEYED_MAX_WAITING", &s.max_waiting, {.min = 0, .max = 1e7, .unit = "requests"},
            "requests that wait at once, for all keys together; further ones get 503");
}

Status CheckKeyedStoreName(const std::string& store) {
  if (store == "memory") return {};
  const Status status = ParseRedisUrl(store).status();
  if (status.ok()) return {};
  return Status::Error("WEIR_KEYED_STORE is " + Printable(WithoutPassword(store)) +
                       ", expected memory or a Redis: " + status.message());
}

void ReadKeyedSection(const YamlValue& section, bool shares, KeyedRulesRead* read) {
  KeyedLimits others;
  std::vector<KeyedRules::Rule> rules;
  size_t keys = 0;
  size_t stars = 0;  // number of keys with a *, of which with_star is the first
  std::string with_star;
  section.Map([&](YamlMap& map) {
    const YamlValue of_others = map.Optional("default");
    of_others.Map([&](YamlMap& limits) { ReadLimits(limits, &others); });
    CheckShared(of_others, shares, others);
    map.Optional("keys").Entries([&](std::string_view key, YamlValue value) {
      KeyedRules::Rule rule{.key = std::string(key), .limits = others};
      value.Map([&](YamlMap& limits) { ReadLimits(limits, &rule.limits); });
      if (key.find('*') != key.npos && stars++ == 0) with_star = Printable(key);
      AddRule(value, shares, std::move(rule), &rules);
    });
    keys = rules.size();
    std::map<std::string, int> lines;  // by pattern
    map.Optional("patterns").List([&](YamlValue item) {
      KeyedRules::Rule rule{.is_pattern = true, .limits = others};
      item.Map([&](YamlMap& limits) {
        limits.Required("pattern").Read(&rule.key);
        ReadLimits(limits, &rule.limits);
      });
      if (rule.key.empty()) return;
      const auto [first, is_new] = lines.emplace(rule.key, item.line());
      if (!is_new) return item.ErrorAgain("the pattern " + Printable(rule.key), first->second);
      AddRule(item, shares, std::move(rule), &rules);
    });
  });
  if (stars > 0) {
    const std::string others_too = stars > 1 ? " (and " + std::to_string(stars - 1) + " more)" : "";
    read->warnings.push_back("the key " + with_star + others_too +
                             " has a *, which is an ordinary character in keyed.keys; keyed.patterns has limits for "
                             "many keys");
  }
  read->has_section = true;
  read->summary = Summary(others, keys, rules.size() - keys);
  auto made = KeyedRules::Make(others, std::move(rules));
  if (!made.ok()) return section.Error(made.status().message());
  read->rules = std::move(made).value();
}

Result<KeyedRulesRead> ReadKeyedRules(const std::string& config_file, bool shares, const KeyedRulesRead* running) {
  KeyedRulesRead read;
  if (config_file.empty()) return read;
  const Status status = ReadConfigSection(config_file, "keyed",
                                          [&](const YamlValue& section) { ReadKeyedSection(section, shares, &read); });
  if (!status.ok()) return status;
  if (running != nullptr && running->has_section && !read.has_section)
    return Status::Error(config_file + " has no keyed: any more; say `keyed: {}` if the defaults are to hold");
  return read;
}

}  // namespace weir
