#include <algorithm>
#include <array>

#include "config/text/parse.h"
#include "config/text/rfc3339.h"
#include "config/yaml_reader.h"
#include "throttle/limits/quota/yaml_store.h"

namespace weir {
namespace {

// Every value in the format takes more bytes than this.
constexpr size_t kLeastBytesOfValue = 4;
constexpr size_t kLineBytes = 110;
// The text that means "never" in the format: the zero time of the program from which the format comes.
constexpr std::string_view kNoTime = "0001-01-01T00:00:00Z";
constexpr std::string_view kByConfiguration = "stated_by_configuration";

constexpr NumberRange kStoredAmounts = {.min = 0, .max = 9.3e18};  // so that a counter at the end of 64 bits can be
                                                                   // read

void ReadAmount(const YamlValue& value, int64_t* amount) {
  value.Read(amount, kStoredAmounts);
  *amount = std::min(*amount, kMostAmount);
}

void ReadTime(const YamlValue& value, WallTime* time) {
  std::string text;
  value.Read(&text);
  if (text.empty() || text == kNoTime) return;
  if (const std::optional<WallTime> parsed = ParseTime(text)) {
    *time = *parsed;
  } else {
    value.Error("found \"" + Printable(text) + "\", expected a time such as 2026-02-20T14:32:01.123456789Z");
  }
}

// Reads an entry. A time without a count is one request.
void ReadEntry(const YamlValue& item, bool bare_ones, std::vector<ModelState::Entry>* entries) {
  ModelState::Entry& entry = entries->emplace_back(ModelState::Entry{.time = {}, .amount = 1});
  if (bare_ones && !item.is_map()) return ReadTime(item, &entry.time);
  item.Map([&](YamlMap& map) {
    ReadTime(map.Required("time"), &entry.time);
    ReadAmount(map.Required("count"), &entry.amount);
  });
}

void ReadEntries(const YamlValue& list, bool bare_ones, std::vector<ModelState::Entry>* entries) {
  list.List([&](const YamlValue& item) { ReadEntry(item, bare_ones, entries); });
  std::erase_if(*entries, [](const ModelState::Entry& entry) { return entry.amount == 0; });
  std::ranges::stable_sort(*entries, {}, &ModelState::Entry::time);
}

// Calls `read` for each model, with its map.
void ReadModels(const YamlValue& models, const std::function<void(std::string_view, YamlMap&)>& read) {
  models.Entries([&](std::string_view name, const YamlValue& value) {
    const Status checked = CheckName("the model's name", name);
    if (!checked.ok()) value.Error(checked.message());
    value.Map([&](YamlMap& map) { read(name, map); });
  });
}

void ReadQuota(YamlMap& map, ModelQuota* quota) {
  ReadAmount(map.Optional("max_rpm"), &quota->max_rpm);
  ReadAmount(map.Optional("max_tpm"), &quota->max_tpm);
  ReadAmount(map.Optional("max_rpd"), &quota->max_rpd);
}

void ReadState(YamlMap& map, ModelState* state) {
  ReadEntries(map.Optional("requests"), true, &state->requests);
  ReadEntries(map.Optional("tokens"), false, &state->tokens);
  ReadTime(map.Optional("day_start"), &state->day_start);
  ReadAmount(map.Optional("day_count"), &state->day_count);
  if (state->day_count == 0) state->day_start = {};
}

// Returns true if every YAML reader reads the name, without quotes, as this same text.
bool IsPlain(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kWords = {"null", "true", "false", "yes", "no",
                                                             "on",   "off",  "y",     "n"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fits = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_'; };
  if (!is_letter(name.front()) || !std::ranges::all_of(name, fits)) return false;
  std::string lower(name);
  for (char& c : lower) c = static_cast<char>(c | (is_letter(c) ? 0x20 : 0));
  return std::ranges::find(kWords, lower) == kWords.end();
}

std::string Key(std::string_view name) {
  if (IsPlain(name)) return std::string(name);
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// Writes a list of entries in lines that are short enough for editors.
class ListWriter {
 public:
  ListWriter(std::string* out, std::string_view name) : out_(out), line_(out->size()) {
    out_->append("    ").append(name).append(": [");
  }
  void Add(const std::string& item) {
    if (!first_) out_->append(",");
    if (out_->size() - line_ + item.size() > kLineBytes) {
      out_->append("\n");
      line_ = out_->size();
      out_->append("      ");
    } else if (!first_) {
      out_->append(" ");
    }
    out_->append(item);
    first_ = false;
  }
  void End() { out_->append("]\n"); }

 private:
  std::string* out_;
  size_t line_;
  bool first_ = true;
};

void WriteEntries(std::string_view name, const std::vector<ModelState::Entry>& entries, bool bare_ones,
                  std::string* out) {
  ListWriter list(out, name);
  for (const ModelState::Entry& entry : entries) {
    const std::string time = FormatTime(entry.time);
    const bool bare = bare_ones && entry.amount == 1;
    list.Add(bare ? time : "{time: " + time + ", count: " + std::to_string(entry.amount) + "}");
  }
  list.End();
}

}  // namespace

Result<QuotaState> ReadQuotaYaml(std::string_view text, std::string_view file) {
  if (text.empty())
    return Status::Error(
        std::string(file) +
        ": is empty (0 bytes), it must have been cut off; restore it from a copy, or delete it to begin anew");
  QuotaState state;
  const YamlBounds bounds{.file_bytes = kMaxQuotaYamlBytes, .values = kMaxQuotaYamlBytes / kLeastBytesOfValue};
  const auto read = [&](YamlMap& root) {
    ReadModels(root.Optional("quotas"),
               [&](std::string_view name, YamlMap& map) { ReadQuota(map, &state[std::string(name)].quota.emplace()); });
    ReadModels(root.Optional("state"),
               [&](std::string_view name, YamlMap& map) { ReadState(map, &state[std::string(name)]); });
    root.Optional(kByConfiguration).List([&](const YamlValue& item) {
      std::string name;
      item.Read(&name);
      if (const auto model = state.find(name); model != state.end() && model->second.quota)
        model->second.by_configuration = true;
    });
  };
  const Status status = ReadYaml(text, file, read, bounds);
  if (!status.ok()) return status;
  return state;
}

std::string WriteQuotaYaml(const QuotaState& all) {
  std::string out = "quotas:";
  const bool quotas = std::ranges::any_of(all, [](const auto& model) { return model.second.quota.has_value(); });
  out += quotas ? "\n" : " {}\n";
  for (const auto& [name, state] : all) {
    if (!state.quota) continue;
    out.append("  ").append(Key(name)).append(":\n");
    out.append("    max_rpm: ").append(std::to_string(state.quota->max_rpm)).append("\n");
    out.append("    max_tpm: ").append(std::to_string(state.quota->max_tpm)).append("\n");
    out.append("    max_rpd: ").append(std::to_string(state.quota->max_rpd)).append("\n");
  }
  if (std::ranges::any_of(all, [](const auto& model) { return model.second.by_configuration; })) {
    out.append(kByConfiguration).append(":\n");
    for (const auto& [name, state] : all)
      if (state.by_configuration) out.append("  - ").append(Key(name)).append("\n");
  }
  const bool counts = std::ranges::any_of(all, [](const auto& model) { return model.second.has_usage(); });
  out += counts ? "state:\n" : "state: {}\n";
  for (const auto& [name, state] : all) {
    if (!state.has_usage()) continue;
    out.append("  ").append(Key(name)).append(":\n");
    WriteEntries("requests", state.requests, true, &out);
    WriteEntries("tokens", state.tokens, false, &out);
    if (state.day_count == 0) continue;
    out.append("    day_start: ").append(FormatTime(state.day_start)).append("\n");
    out.append("    day_count: ").append(std::to_string(state.day_count)).append("\n");
  }
  return out;
}

}  // namespace weir
