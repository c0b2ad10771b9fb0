#include "relay/limiters/queued/queued_settings.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "config/yaml_reader.h"
#include "relay/limiters/config_file.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

// Paths that a relay or a gate uses itself. They and all paths below them cannot be endpoints, whichever limiters run.
constexpr std::string_view kOwnPaths[] = {"/v1",          "/rate",    "/debug",   "/json",
                                          "/healthcheck", "/metrics", "/healthz", "/readyz"};
constexpr double kMostDynamicEndpoints = 1e6;
constexpr double kMostSeconds = static_cast<double>(std::chrono::seconds(kMaxEndpointTime).count());

// Reads a count, if there is one. A value that cannot be read is an error; *count is then the least allowed value, so
// that it causes no second error.
void ReadCount(const YamlValue& value, const NumberRange& range, std::optional<uint32_t>* count) {
  if (!value) return;
  auto number = static_cast<uint64_t>(range.min);
  value.Read(&number, range);
  *count = static_cast<uint32_t>(number);
}

void ReadTime(const YamlValue& value, double least_seconds, std::optional<milliseconds>* time) {
  if (!value) return;
  Duration read = FromSeconds(least_seconds);
  value.ReadSeconds(&read, {.min = least_seconds, .max = kMostSeconds});
  *time = std::chrono::round<milliseconds>(read);
}

template <typename Enum, size_t kCount>
void ReadWord(const YamlValue& value, const std::array<std::string_view, kCount>& names, std::optional<Enum>* word) {
  if (!value) return;
  std::vector<std::pair<std::string, Enum>> words;
  for (size_t i = 0; i < kCount; ++i) words.emplace_back(names[i], static_cast<Enum>(i));
  Enum read{};
  value.Read(&read, words);
  *word = read;
}

void ReadPath(const YamlValue& value, const IsOwnPath& is_own, std::string* path) {
  value.Read(path);
  if (path->empty()) return;
  if (const Status status = CheckEndpointPath(*path); !status.ok()) {
    value.Error(status.message());
    return path->clear();
  }
  const std::string first = path->substr(0, path->find('/', 1));
  if (std::ranges::count(kOwnPaths, first) > 0 || (is_own && is_own(*path)))
    value.Error("found " + *path + ", expected a path of yours: " + first + " is the program's own");
}

// Reads the members that may be in `defaults` too.
void ReadManner(YamlMap& map, EndpointRule* rule) {
  ReadWord(map.Optional("unit"), EndpointConfig::kUnits, &rule->unit);
  ReadWord(map.Optional("scheduler"), EndpointConfig::kSchedulers, &rule->scheduler);
  ReadWord(map.Optional("algorithm"), EndpointConfig::kAlgorithms, &rule->algorithm);
  ReadCount(map.Optional("max_queue_size"), {.min = 0, .max = kMostQueueSize, .unit = "requests"},
            &rule->max_queue_size);
  ReadWord(map.Optional("overflow"), EndpointConfig::kOverflows, &rule->overflow);
}

// Leaves the path empty if there is none, or a wrong one.
void ReadEndpoint(YamlMap& map, const IsOwnPath& is_own, EndpointRule* rule) {
  ReadPath(map.Required("path"), is_own, &rule->path);
  if (const YamlValue rate = map.Optional("rate")) {
    rule->rate = kLeastEndpointRate;
    rate.Read(&*rule->rate, {.min = kLeastEndpointRate, .max = kMostEndpointRate, .unit = "requests in a unit"});
  }
  ReadManner(map, rule);
  ReadCount(map.Optional("burst_size"), {.min = 1, .max = kMostBurstSize, .unit = "requests"}, &rule->burst_size);
  ReadTime(map.Optional("window_seconds"), std::chrono::duration<double>(kMinEndpointWindow).count(), &rule->window);
  ReadTime(map.Optional("queue_timeout"), 0, &rule->queue_timeout);
  ReadCount(map.Optional("tokens_per_window"), {.min = 1, .max = kMostWindowTokens, .unit = "tokens"},
            &rule->tokens_per_window);
  ReadCount(map.Optional("default_tokens"), {.min = 1, .max = kMostWindowTokens, .unit = "tokens"},
            &rule->default_tokens);
}

void ReadEndpoints(const YamlValue& section, const IsOwnPath& is_own, size_t max_dynamic, const EndpointRule& defaults,
                   QueuedRulesRead* read) {
  std::vector<EndpointRule> rules;
  std::map<std::string, YamlValue, std::less<>> items;  // by canonical path
  bool all_good = true;
  section.List([&](YamlValue item) {
    EndpointRule rule;
    item.Map([&](YamlMap& map) { ReadEndpoint(map, is_own, &rule); });
    if (rule.path.empty()) {
      all_good = false;  // this endpoint's error was reported, and those below could lack what they inherit from it
      return;
    }
    const auto [first, is_new] = items.emplace(CanonicalPath(rule.path), item);
    if (!is_new) {
      all_good = false;
      return item.ErrorAgain("the path " + Printable(first->first), first->second.line());
    }
    rules.push_back(std::move(rule));
  });
  read->has_section = true;
  if (!all_good) return;
  std::string wrong_path;
  auto made = QueuedRules::Make(std::move(rules), max_dynamic, defaults, &wrong_path);
  if (!made.ok()) return items.find(wrong_path)->second.Error(made.status().message());
  read->rules = std::move(made).value();
  read->summary = std::to_string(read->rules->configs().size()) + " configured";
}

}  // namespace

void Declare(SettingTable& table, QueuedSettings& s) {
  table.Add<ServedQueuedApi>(
      "QUEUED_API", &s.api,
      {{"off", ServedQueuedApi::kOff}, {"admins", ServedQueuedApi::kAdmins}, {"all", ServedQueuedApi::kAll}},
      "access on this port to the endpoints of WEIR_CONFIG (their requests wait for their turn): off, admins "
      "(administrators only) or all; the default of `weir gate` is all");
  table.Add("QUEUED_SHARDS", &s.shards, {.min = 1, .max = 1024}, "parts into which the endpoints are spread");
  table.Add("QUEUED_MAX_WAITING", &s.max_waiting, {.min = 0, .max = 1e7, .unit = "requests"},
            "requests that wait at once, at all endpoints together; further ones get 503");
  table.Add("QUEUED_IDLE_MS", &s.idle_after, {.min = 1000, .max = 1e9},
            "idle time after which an endpoint that WEIR_CONFIG does not name is removed");
}

Result<QueuedRulesRead> ReadQueuedRules(const std::string& config_file, const QueuedRulesRead* running,
                                        const IsOwnPath& is_own) {
  QueuedRulesRead read;
  if (config_file.empty()) return read;
  uint64_t max_dynamic = read.rules->max_dynamic();
  EndpointRule defaults;
  Status status = ReadConfigSection(config_file, "defaults", [&](const YamlValue& section) {
    section.Map([&](YamlMap& map) {
      map.Optional("max_dynamic_endpoints")
          .Read(&max_dynamic, {.min = 0, .max = kMostDynamicEndpoints, .unit = "endpoints"});
      ReadManner(map, &defaults);
    });
  });
  if (!status.ok()) return status;
  status = ReadConfigSection(config_file, "server", [&](const YamlValue&) { read.has_server = true; });
  if (!status.ok()) return status;
  status = ReadConfigSection(config_file, "endpoints", [&](const YamlValue& section) {
    ReadEndpoints(section, is_own, max_dynamic, defaults, &read);
  });
  if (!status.ok()) return status;
  if (running != nullptr && running->has_section && !read.has_section)
    return Status::Error(config_file + " has no endpoints: any more; say `endpoints: []` if there is to be none");
  return read;
}

}  // namespace weir
