#include "config/settings.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>

extern "C" char** environ;

namespace weir {
namespace {

constexpr std::string_view kPrefix = "WEIR_";
constexpr std::string_view kOldPrefix = "ORLY_";  // the prefix of ORLY, from which users may move to weir
constexpr std::string_view kDefault = "default";
constexpr std::string_view kInherited = "inherited from ";

// Returns the variable's value, unless it is unset or blank.
std::optional<std::string_view> Find(const Environment& environment, const std::string& variable) {
  const auto found = environment.find(variable);
  if (found == environment.end() || TrimBlanks(found->second).empty()) return std::nullopt;
  return found->second;
}

// Returns the first two words, each with the underscore after it; empty if the name has no third word.
std::string_view FirstTwoWords(std::string_view name) {
  const size_t first = name.find('_');
  const size_t second = first == name.npos ? name.npos : name.find('_', first + 1);
  return second == name.npos ? "" : name.substr(0, second + 1);
}

bool IsOfAKindWith(std::string_view name, const std::vector<std::string_view>& names) {
  const std::string_view begin = FirstTwoWords(name);
  return !begin.empty() && std::ranges::any_of(names, [begin](std::string_view n) { return n.starts_with(begin); });
}

Status Refusal(std::string_view source, std::string_view text, const Status& reason) {
  return Status::Error(std::string(source) + "=" + Printable(text) + ": " + reason.message());
}

}  // namespace

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view pair = *entry;
    const size_t equals = pair.find('=');
    if (equals != pair.npos) environment.emplace(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return environment;
}

void SettingTable::Add(std::string name, bool* variable, std::string meaning) {
  const auto print = [](bool b) { return std::string(b ? "true" : "false"); };
  AddRow({.name = std::move(name),
          .default_value = print(*variable),
          .unit = "",
          .range = "true|false",
          .meaning = std::move(meaning)},
         [variable, print](std::string_view text) -> Result<Parsed> {
           const Result<bool> parsed = ParseBool(text);
           if (!parsed.ok()) return parsed.status();
           return Parsed{print(parsed.value()), [variable, value = parsed.value()] { *variable = value; }};
         });
}

template <typename Variable, typename Parse, typename Print>
void SettingTable::AddNumber(std::string name, Variable* variable, NumberRange range, std::string meaning, Parse parse,
                             Print print) {
  std::string default_value = print(*variable);
  if (const auto good = parse(default_value, range); !good.ok())
    throw std::logic_error(Refusal(name, default_value, good.status()).message());
  SettingRow row{.name = std::move(name),
                 .default_value = std::move(default_value),
                 .unit = std::string(range.unit),
                 .range = FormatRange(range),
                 .meaning = std::move(meaning)};
  AddRow(std::move(row), [=, unit = std::string(range.unit)](std::string_view text) -> Result<Parsed> {
    const auto parsed = parse(text, NumberRange{range.min, range.max, unit});
    if (!parsed.ok()) return parsed.status();
    const Variable value(parsed.value());
    return Parsed{print(value), [variable, value] { *variable = value; }};
  });
}

void SettingTable::Add(std::string name, double* variable, NumberRange range, std::string meaning) {
  AddNumber(std::move(name), variable, range, std::move(meaning), ParseNumber, FormatNumber);
}

void SettingTable::Add(std::string name, int64_t* variable, NumberRange range, std::string meaning) {
  AddNumber(std::move(name), variable, range, std::move(meaning), ParseInteger,
            [](int64_t n) { return std::to_string(n); });
}

void SettingTable::Add(std::string name, uint64_t* variable, NumberRange range, std::string meaning) {
  AddNumber(std::move(name), variable, range, std::move(meaning), ParseUnsigned,
            [](uint64_t n) { return std::to_string(n); });
}

void SettingTable::Add(std::string name, std::chrono::milliseconds* variable, NumberRange range, std::string meaning) {
  range.unit = "ms";
  AddNumber(std::move(name), variable, range, std::move(meaning), ParseInteger,
            [](std::chrono::milliseconds ms) { return std::to_string(ms.count()); });
}

void SettingTable::Add(std::string name, std::string* variable, std::string meaning) {
  AddSecret(std::move(name), variable, std::move(meaning), [](std::string_view value) { return std::string(value); });
}

void SettingTable::AddSecret(std::string name, std::string* variable, std::string meaning, Show show) {
  SettingRow row{.name = std::move(name),
                 .default_value = show(*variable),
                 .unit = "",
                 .range = "",
                 .meaning = std::move(meaning)};
  AddRow(std::move(row), [variable, show = std::move(show)](std::string_view text) -> Result<Parsed> {
    std::string value(TrimBlanks(text));
    std::string printed = show(value);
    const bool hidden = printed != value;
    return Parsed{std::move(printed), [variable, value = std::move(value)] { *variable = value; }, hidden};
  });
}

void SettingTable::AddWords(std::string name, std::vector<std::string> words, size_t default_index,
                            std::function<void(size_t)> assign, std::string meaning) {
  if (default_index >= words.size()) throw std::logic_error(name + ": its default is none of its words");
  SettingRow row{.name = std::move(name),
                 .default_value = words[default_index],
                 .unit = "",
                 .range = Join(words, "|"),
                 .meaning = std::move(meaning)};
  AddRow(std::move(row),
         [words = std::move(words), assign = std::move(assign)](std::string_view text) -> Result<Parsed> {
           const Result<size_t> index = ParseWord(text, words);
           if (!index.ok()) return index.status();
           return Parsed{words[index.value()], [assign, i = index.value()] { assign(i); }};
         });
}

void SettingTable::AddRow(SettingRow row, Parser parse) {
  if (IndexOf(row.name) != rows_.size()) throw std::logic_error("the setting " + row.name + " is declared twice");
  row.value = row.default_value;
  row.source = kDefault;
  rows_.push_back(std::move(row));
  parsers_.push_back(std::move(parse));
}

void SettingTable::Assign(size_t index, const Parsed& parsed, std::string_view source) {
  parsed.assign();
  rows_[index].value = parsed.printed;
  rows_[index].hidden = parsed.hidden;
  rows_[index].source = source;
  for (const auto& [heir, from] : heirs_) {
    const std::string& has = rows_[heir].source;
    if (from != index || (has != kDefault && !has.starts_with(kInherited))) continue;
    const Result<Parsed> inherited = parsers_[heir](parsed.printed);
    if (!inherited.ok())
      throw std::logic_error(Refusal(rows_[heir].name, parsed.printed, inherited.status()).message());
    Assign(heir, inherited.value(), std::string(kInherited) + std::string(source));
  }
}

size_t SettingTable::IndexOf(std::string_view name) const {
  return static_cast<size_t>(std::ranges::find(rows_, name, &SettingRow::name) - rows_.begin());
}

void SettingTable::DefaultFrom(std::string_view heir, std::string_view from) {
  const std::pair link(IndexOf(heir), IndexOf(from));
  if (std::max(link.first, link.second) == rows_.size())
    throw std::logic_error(std::string(heir) + " and " + std::string(from) + " must be declared before one inherits");
  heirs_.push_back(link);
}

void SettingTable::AlsoFrom(std::string_view name, std::string variable) {
  if (IndexOf(name) == rows_.size()) throw std::logic_error(std::string(name) + " is not declared");
  others_.emplace(IndexOf(name), std::move(variable));
}

void SettingTable::ForEmbedding(std::string_view name) {
  if (IndexOf(name) == rows_.size()) throw std::logic_error(std::string(name) + " is not declared");
  rows_[IndexOf(name)].for_embedding = true;
}

Status SettingTable::Load(const Environment& environment, const std::vector<SettingFlag>& flags) {
  struct Found {
    size_t index;
    Parsed parsed;
    std::string source;
  };
  std::vector<Found> found;
  std::vector<std::string> errors;
  const auto find = [&](size_t index, std::string_view text, const std::string& source) {
    Result<Parsed> parsed = parsers_[index](text);
    if (parsed.ok()) {
      found.push_back({index, std::move(parsed).value(), source});
    } else {
      errors.push_back(Refusal(source, text, parsed.status()).message());
    }
  };
  for (size_t i = 0; i < rows_.size(); ++i) {
    std::vector<std::string> variables;
    for (const std::string_view prefix : {kPrefix, kOldPrefix})
      variables.push_back(std::string(prefix) + rows_[i].name);
    if (const auto other = others_.find(i); other != others_.end()) variables.push_back(other->second);
    for (const std::string& variable : variables) {
      const std::optional<std::string_view> text = Find(environment, variable);
      if (!text) continue;
      find(i, *text, variable);
      break;
    }
  }
  for (const auto& [flag, setting, text] : flags) {
    const size_t index = IndexOf(setting);
    if (index == rows_.size()) return Status::Error(std::string(flag).append(": there is no setting ").append(setting));
    find(index, text, flag);
  }
  if (!errors.empty()) return Status::Error(Join(errors, "\n"));
  for (const Found& f : found) Assign(f.index, f.parsed, f.source);
  return Status();
}

std::vector<std::string> SettingTable::UnknownNames(const Environment& environment) const {
  std::vector<std::string_view> names;
  for (const SettingRow& row : rows_) names.push_back(row.name);
  std::vector<std::string> warnings;
  for (const std::string_view prefix : {kPrefix, kOldPrefix}) {
    for (auto it = environment.lower_bound(prefix); it != environment.end() && it->first.starts_with(prefix); ++it) {
      const std::string_view name = std::string_view(it->first).substr(prefix.size());
      if (std::ranges::find(names, name) != names.end()) continue;
      const std::string_view nearest = NearestName(name, names);
      if (prefix == kOldPrefix && nearest.empty() && !IsOfAKindWith(name, names)) continue;
      std::string warning = Printable(it->first) + " is not a setting";
      if (!nearest.empty()) warning.append("; did you mean ").append(kPrefix).append(nearest).append("?");
      warnings.push_back(std::move(warning));
    }
  }
  return warnings;
}

}  // namespace weir
