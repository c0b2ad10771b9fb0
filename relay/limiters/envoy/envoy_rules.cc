#include "relay/limiters/envoy/envoy_rules.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <system_error>
#include <utility>

#include "config/text/parse.h"
#include "config/yaml_reader.h"

namespace weir {
namespace {

// These bounds leave ample room: a file with 10,000 limits has 110,000 values and half a megabyte.
constexpr YamlBounds kBounds{.file_bytes = size_t{16} << 20, .values = 1'000'000};
constexpr size_t kMostFiles = 1000;

class FileReader {
 public:
  // `domains` maps each domain that was read so far to the path of its file.
  FileReader(std::string path, DescriptorRules* rules, std::map<std::string, std::string>* domains)
      : path_(std::move(path)), rules_(*rules), domains_(*domains) {}

  Status Read() {
    return ReadYamlFile(
        path_,
        [this](YamlMap& root) {
          std::string domain;
          const YamlValue name = root.Required("domain");
          name.Read(&domain);
          const auto [before, is_new] = domains_.emplace(domain, path_);
          if (!is_new) name.Error("the domain " + domain + " is in " + before->second + " too, expected it once");
          DescriptorRules::Node* node = is_new ? rules_.AddDomain(domain) : nullptr;
          ReadDescriptors(root.Optional("descriptors"), node);
        },
        kBounds);
  }

  std::vector<std::string> Warnings() const {
    std::vector<std::string> warnings;
    for (const auto& [key, count] : not_followed_)
      warnings.push_back(path_ + ": " + key + " of " + std::to_string(count) +
                         (count == 1 ? " descriptor" : " descriptors") + " changes nothing here: " +
                         (key == "metadata"
                              ? "answers bring no metadata"
                              : "metrics tell of each rule, /debug/ratelimit too, and not of each value"));
    return warnings;
  }

 private:
  using LinesByDescriptor = std::map<std::pair<std::string, std::string>, int>;  // by key and value

  // Adds the descriptors of `list` as rules below the rule `beneath`. If `beneath` is null, that rule was wrong, and
  // the list is read only to find further mistakes.
  void ReadDescriptors(const YamlValue& list, DescriptorRules::Node* beneath) {
    LinesByDescriptor lines;
    list.List(
        [&](const YamlValue& item) { item.Map([&](YamlMap& map) { ReadDescriptor(map, item, beneath, &lines); }); });
  }

  // `lines` has the lines of the descriptors that stand before in the same list and are right.
  void ReadDescriptor(YamlMap& map, const YamlValue& item, DescriptorRules::Node* beneath, LinesByDescriptor* lines) {
    DescriptorRule rule;
    map.Required("key").Read(&rule.key);
    map.Optional("value").Read(&rule.value);
    map.Optional("rate_limit").Map([&](YamlMap& limit) { ReadLimit(limit, &rule.limit.emplace()); });
    map.Optional("shadow_mode").Read(&rule.shadow_mode);
    map.Optional("quota_mode").Read(&rule.quota_mode);
    map.Optional("share_threshold").Read(&rule.share_threshold);
    for (const char* key : {"detailed_metric", "value_to_metric"}) {
      bool wanted = false;
      map.Optional(key).Read(&wanted);
      if (wanted) ++not_followed_[key];
    }
    if (map.Optional("metadata")) ++not_followed_["metadata"];
    DescriptorRules::Node* node = nullptr;
    if (beneath != nullptr && !rule.key.empty()) {
      auto name = std::pair(rule.key, rule.value);
      auto added = beneath->Add(std::move(rule));
      if (added.ok()) {
        node = added.value();
        lines->emplace(std::move(name), item.line());
      } else {
        // A descriptor that stands in the list already is refused for this alone.
        const auto first = lines->find(name);
        item.Error(added.status().message() +
                   (first == lines->end() ? "" : " (it stands in line " + std::to_string(first->second) + ")"));
      }
    }
    ReadDescriptors(map.Optional("descriptors"), node);
  }

  static void ReadLimit(YamlMap& map, WrittenLimit* limit) {
    map.Optional("unlimited").Read(&limit->unlimited);
    const auto value = [&](std::string_view key) { return limit->unlimited ? map.Optional(key) : map.Required(key); };
    const YamlValue unit = value("unit");
    if (limit->unlimited) {
      unit.Error("found a unit, expected none beside unlimited: true");
    } else {
      ReadUnit(unit, &limit->unit);
    }
    uint64_t requests = 0;
    value("requests_per_unit").Read(&requests, {.min = 0, .max = std::numeric_limits<uint32_t>::max()});
    limit->requests_per_unit = static_cast<uint32_t>(requests);
    map.Optional("name").Read(&limit->name);
    map.Optional("replaces").List([&](const YamlValue& item) {
      item.Map([&](YamlMap& replaced) { replaced.Required("name").Read(&limit->replaces.emplace_back()); });
    });
  }

  // Reads a unit in upper or lower case, as envoyproxy/ratelimit does.
  static void ReadUnit(const YamlValue& value, LimitUnit* unit) {
    static const std::vector<std::string> kWords = {"second", "minute", "hour", "day", "month", "year", "week"};
    std::string text;
    value.Read(&text);
    if (text.empty()) return;
    const Result<size_t> word = ParseWord(text, kWords);
    if (!word.ok()) return value.Error("found \"" + Printable(text) + "\", expected one of " + Join(kWords, ", "));
    *unit = static_cast<LimitUnit>(word.value() + 1);
  }

  const std::string path_;
  DescriptorRules& rules_;
  std::map<std::string, std::string>& domains_;
  std::map<std::string, size_t> not_followed_;
};

std::string Counted(size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

}  // namespace

std::vector<std::string> EnvoyRuleFiles(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(directory, failed), end; !failed && at != end; at.increment(failed)) {
    const std::filesystem::path& path = at->path();
    const bool is_yaml = path.extension() == ".yaml" || path.extension() == ".yml";
    std::error_code gone;
    // Hidden files are skipped, because editors make them. A link may lead into a hidden directory, as the links of a
    // ConfigMap do.
    if (is_yaml && !path.filename().string().starts_with('.') && at->is_regular_file(gone))
      paths.push_back(path.string());
  }
  std::ranges::sort(paths);
  return paths;
}

Result<EnvoyRulesRead> ReadEnvoyRules(const std::string& directory, const DescriptorRules* before) {
  std::error_code failed;
  if (!std::filesystem::is_directory(directory, failed))
    return Status::Error(directory + ": " + (failed ? failed.message() : "is no directory") +
                         "; expected a directory with *.yaml files of envoyproxy/ratelimit");
  const std::vector<std::string> paths = EnvoyRuleFiles(directory);
  if (paths.empty()) return Status::Error(directory + ": found no *.yaml file, expected one for each domain");
  if (paths.size() > kMostFiles)
    return Status::Error(directory + ": found " + std::to_string(paths.size()) + " *.yaml files, expected at most " +
                         std::to_string(kMostFiles));
  auto rules = std::make_shared<DescriptorRules>(before);
  EnvoyRulesRead read;
  std::map<std::string, std::string> domains;
  std::vector<std::string> errors;
  for (const std::string& path : paths) {
    FileReader reader(path, rules.get(), &domains);
    if (const Status status = reader.Read(); !status.ok()) errors.push_back(status.message());
    std::ranges::move(reader.Warnings(), std::back_inserter(read.warnings));
  }
  if (!errors.empty()) return Status::Error(Join(errors, "\n"));
  read.summary = Counted(rules->limits().size(), "limit") + " in " + Counted(rules->domains(), "domain") + " of " +
                 Counted(paths.size(), "file");
  read.rules = std::move(rules);
  return read;
}

}  // namespace weir
