#include "throttle/limits/queued/endpoint_config.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "config/text/parse.h"

namespace weir {
namespace {

using Algorithm = EndpointConfig::Algorithm;
using std::chrono::milliseconds;

constexpr milliseconds kTokenWindow = std::chrono::minutes(1);

auto Fields(EndpointRule& rule) {
  return std::tie(rule.rate, rule.unit, rule.scheduler, rule.algorithm, rule.max_queue_size, rule.overflow,
                  rule.burst_size, rule.window, rule.queue_timeout, rule.tokens_per_window, rule.default_tokens);
}

template <typename Fields, size_t... I>
void FillUnset(Fields own, Fields inherited, std::index_sequence<I...> /*all*/) {
  ((std::get<I>(own) = std::get<I>(own) ? std::get<I>(own) : std::get<I>(inherited)), ...);
}

std::string_view ParentOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == 0) return path == "/" ? "" : "/";
  return path.substr(0, slash);
}

Status CheckRange(const char* what, double value, const NumberRange& range) {
  if (value >= range.min && value <= range.max) return {};
  return Status::Error(std::string(what) + " is " + FormatNumber(value) + "; it is " + FormatRangeAndUnit(range));
}

double Seconds(milliseconds time) { return std::chrono::duration<double>(time).count(); }

Status ReadRate(const EndpointRule& rule, EndpointConfig* config) {
  if (!rule.rate) return Status::Error("it needs a rate, the requests in each second or (unit: rpm) minute");
  config->rate = *rule.rate;
  return CheckRange("rate", config->rate, {kLeastEndpointRate, kMostEndpointRate, "requests in a unit"});
}

Status ReadBurst(const EndpointRule& rule, EndpointConfig* config) {
  const double in_second = std::clamp<double>(config->per_second(), 1, kMostBurstSize);
  config->burst_size = rule.burst_size.value_or(static_cast<uint32_t>(in_second));
  const double longest = Seconds(kMaxEndpointTime) * config->per_second();
  return CheckRange("burst_size", config->burst_size,
                    {1, std::clamp<double>(std::floor(longest), 1, kMostBurstSize), "requests"});
}

Status ReadWindow(const EndpointRule& rule, milliseconds otherwise, EndpointConfig* config) {
  config->window = rule.window.value_or(otherwise);
  return CheckRange("window_seconds", Seconds(config->window),
                    {Seconds(kMinEndpointWindow), Seconds(kMaxEndpointTime), "seconds"});
}

Status ReadSlidingWindow(const EndpointRule& rule, EndpointConfig* config) {
  const bool by_second = config->unit == EndpointConfig::Unit::kPerSecond;
  const milliseconds unit = by_second ? std::chrono::seconds(1) : std::chrono::seconds(60);
  if (Status status = ReadWindow(rule, unit, config); !status.ok()) return status;
  // Allows for rounding: a rate of 0.1 is not exactly a tenth.
  const double most = std::floor(config->per_second() * Seconds(config->window) * (1 + 1e-12));
  config->most_in_window = static_cast<uint32_t>(std::clamp<double>(most, 0, kMostEndpointRate));
  return CheckRange("what the rate lets through in window_seconds", most, {1, kMostEndpointRate, "requests"});
}

Status ReadTokenWindow(const EndpointRule& rule, EndpointConfig* config) {
  if (Status status = ReadWindow(rule, kTokenWindow, config); !status.ok()) return status;
  if (!rule.tokens_per_window) return Status::Error("it needs tokens_per_window, for its algorithm is token_window");
  config->tokens_per_window = *rule.tokens_per_window;
  config->default_tokens = rule.default_tokens.value_or(1);
  Status status = CheckRange("tokens_per_window", config->tokens_per_window, {1, kMostWindowTokens, "tokens"});
  if (!status.ok()) return status;
  return CheckRange("default_tokens", config->default_tokens,
                    {1, static_cast<double>(config->tokens_per_window), "tokens"});
}

Result<std::shared_ptr<const EndpointConfig>> Resolve(const EndpointRule& rule) {
  EndpointConfig config;
  config.unit = rule.unit.value_or(config.unit);
  config.scheduler = rule.scheduler.value_or(config.scheduler);
  config.algorithm = rule.algorithm.value_or(config.algorithm);
  config.max_queue_size = rule.max_queue_size.value_or(config.max_queue_size);
  config.overflow = rule.overflow.value_or(config.overflow);
  config.queue_timeout = rule.queue_timeout.value_or(config.queue_timeout);

  Status status = CheckRange("max_queue_size", config.max_queue_size, {0, kMostQueueSize, "requests"});
  if (status.ok())
    status = CheckRange("queue_timeout", Seconds(config.queue_timeout), {0, Seconds(kMaxEndpointTime), "seconds"});
  if (status.ok() && config.algorithm != Algorithm::kTokenWindow) status = ReadRate(rule, &config);
  if (status.ok() && config.algorithm == Algorithm::kTokenBucket) status = ReadBurst(rule, &config);
  if (status.ok() && config.algorithm == Algorithm::kSlidingWindow) status = ReadSlidingWindow(rule, &config);
  if (status.ok() && config.algorithm == Algorithm::kTokenWindow) status = ReadTokenWindow(rule, &config);
  if (!status.ok()) return status;
  return std::make_shared<const EndpointConfig>(config);
}

}  // namespace

std::string_view CanonicalPath(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

Status CheckEndpointPath(std::string_view path) {
  const bool is_path = path.starts_with('/') && path.size() <= kMostPathBytes &&
                       std::ranges::none_of(path, [](char c) { return c <= ' ' || c == '?' || c == '#' || c == 127; });
  if (is_path) return {};
  return Status::Error("path '" + Printable(path) + "': a path begins with /, has at most " +
                       std::to_string(kMostPathBytes) + " bytes, and no blank, ? or #");
}

Result<std::shared_ptr<const QueuedRules>> QueuedRules::Make(std::vector<EndpointRule> rules, size_t max_dynamic,
                                                             EndpointRule defaults, std::string* wrong_path) {
  const auto refuse = [wrong_path](std::string_view path, Status why) {
    if (wrong_path != nullptr) *wrong_path = CanonicalPath(path);
    return why;
  };
  for (EndpointRule& rule : rules) {
    if (Status status = CheckEndpointPath(rule.path); !status.ok()) return refuse(rule.path, status);
    rule.path = CanonicalPath(rule.path);
  }
  // After sorting, an ancestor comes before the paths that inherit from it.
  std::ranges::sort(rules, {}, &EndpointRule::path);
  const auto twice = std::ranges::adjacent_find(rules, {}, &EndpointRule::path);
  if (twice != rules.end())
    return refuse(twice->path, Status::Error("path '" + Printable(twice->path) + "' is there twice"));

  auto made = std::make_shared<QueuedRules>();
  made->max_dynamic_ = max_dynamic;
  std::unordered_map<std::string_view, EndpointRule*> whole;
  for (EndpointRule& rule : rules) {
    EndpointRule* inherited = &defaults;
    for (std::string_view path = ParentOf(rule.path); !path.empty(); path = ParentOf(path)) {
      const auto ancestor = whole.find(path);
      if (ancestor == whole.end()) continue;
      inherited = ancestor->second;
      break;
    }
    constexpr size_t kFields = std::tuple_size_v<decltype(Fields(rule))>;
    FillUnset(Fields(rule), Fields(*inherited), std::make_index_sequence<kFields>());
    whole.emplace(rule.path, &rule);
    Result<std::shared_ptr<const EndpointConfig>> config = Resolve(rule);
    if (!config.ok())
      return refuse(rule.path, Status::Error("path '" + Printable(rule.path) + "': " + config.status().message()));
    made->configs_.emplace(rule.path, std::move(config).value());
    made->longest_ = std::max(made->longest_, rule.path.size());
  }
  return std::shared_ptr<const QueuedRules>(std::move(made));
}

const QueuedRules::Configs::value_type* QueuedRules::Nearest(std::string_view path) const {
  // No configured path is longer than longest_, so a path of 500 slashes costs no more look-ups than that one.
  if (path.size() > longest_ + 1) path = ParentOf(path.substr(0, longest_ + 1));
  for (; !path.empty(); path = ParentOf(path))
    if (const auto found = configs_.find(HashedName(path)); found != configs_.end()) return &*found;
  return nullptr;
}

}  // namespace weir
