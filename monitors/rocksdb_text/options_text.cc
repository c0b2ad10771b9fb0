#include "monitors/rocksdb_text/options_text.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <system_error>

#include "config/text/parse.h"

namespace weir {
namespace {

template <typename Number>
bool Set(std::string_view value, Number* member) {
  const auto parsed = ParseInteger(value, {.min = static_cast<double>(std::numeric_limits<Number>::min()),
                                           .max = static_cast<double>(std::numeric_limits<Number>::max())});
  if (parsed.ok()) *member = static_cast<Number>(parsed.value());
  return parsed.ok();
}
bool Set(std::string_view value, uint64_t* member) {
  const auto parsed =
      ParseUnsigned(value, {.min = 0, .max = static_cast<double>(std::numeric_limits<uint64_t>::max())});
  if (parsed.ok()) *member = parsed.value();
  return parsed.ok();
}
bool Set(std::string_view value, bool* member) {
  const auto parsed = ParseBool(value);
  if (parsed.ok()) *member = parsed.value();
  return parsed.ok();
}
bool Set(std::string_view value, CompactionStyle* member) {
  static constexpr std::string_view kNames[] = {"kCompactionStyleLevel", "kCompactionStyleUniversal",
                                                "kCompactionStyleFIFO", "kCompactionStyleNone"};
  const auto found = std::ranges::find(kNames, value);
  if (found == std::end(kNames)) return false;
  *member = static_cast<CompactionStyle>(found - std::begin(kNames));
  return true;
}

// Returns the name in a section such as `[CFOptions "default"]`; nullopt if it is another section.
std::optional<std::string> FamilyOfSection(std::string_view line) {
  constexpr std::string_view kHead = "[CFOptions \"", kTail = "\"]";
  if (!line.starts_with(kHead) || !line.ends_with(kTail) || line.size() < kHead.size() + kTail.size())
    return std::nullopt;
  return std::string(line.substr(kHead.size(), line.size() - kHead.size() - kTail.size()));
}

}  // namespace

bool SetLsmOption(std::string_view name, std::string_view value, LsmOptions* o) {
#define WEIR_OPTION(member) \
  if (name == #member) return Set(value, &o->member)
  WEIR_OPTION(write_buffer_size);
  WEIR_OPTION(max_write_buffer_number);
  WEIR_OPTION(min_write_buffer_number_to_merge);
  WEIR_OPTION(level0_file_num_compaction_trigger);
  WEIR_OPTION(level0_slowdown_writes_trigger);
  WEIR_OPTION(level0_stop_writes_trigger);
  WEIR_OPTION(soft_pending_compaction_bytes_limit);
  WEIR_OPTION(hard_pending_compaction_bytes_limit);
  WEIR_OPTION(compaction_style);
  WEIR_OPTION(max_bytes_for_level_base);
  WEIR_OPTION(level_compaction_dynamic_level_bytes);
  WEIR_OPTION(disable_auto_compactions);
  return false;
}

bool SetDbOption(std::string_view name, std::string_view value, OptionsText* o) {
  WEIR_OPTION(db_write_buffer_size);
  WEIR_OPTION(delayed_write_rate);
  WEIR_OPTION(max_background_jobs);
  WEIR_OPTION(max_subcompactions);
  WEIR_OPTION(stats_dump_period_sec);
#undef WEIR_OPTION
  return false;
}

const OptionsText::Family* OptionsText::Find(std::string_view name) const {
  const auto found = std::ranges::find(families, name, &Family::name);
  return found == families.end() ? nullptr : &*found;
}

Result<OptionsText> ParseOptionsText(std::string_view text) {
  OptionsText result;
  bool in_family = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = TrimBlanks(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("[")) {
      const std::optional<std::string> family = FamilyOfSection(line);
      in_family = family.has_value();
      if (family) result.families.push_back({*family, {}});
      continue;
    }
    const size_t equals = line.find('=');
    if (equals == line.npos || line.starts_with("#")) continue;
    const std::string_view name = TrimBlanks(line.substr(0, equals)), value = TrimBlanks(line.substr(equals + 1));
    if (in_family) {
      SetLsmOption(name, value, &result.families.back().options);
    } else if (name == "rocksdb_version") {
      result.rocksdb_version = value;
    } else {
      SetDbOption(name, value, &result);
    }
  }
  if (result.families.empty())
    return Status::Error("the text has no section [CFOptions \"…\"]: give that of a file OPTIONS-NNNNNN of RocksDB");
  return result;
}

Result<std::filesystem::path> NewestOptionsFile(const std::filesystem::path& directory) {
  constexpr std::string_view kPrefix = "OPTIONS-";
  std::error_code error;
  std::filesystem::path newest;
  uint64_t highest = 0;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    uint64_t number = 0;
    if (!Set(std::string_view(name).substr(kPrefix.size()), &number) || number < highest) continue;
    highest = number;
    newest = entry->path();
  }
  if (error) return Status::Error(directory.string() + ": " + error.message());
  if (newest.empty())
    return Status::Error(directory.string() + " has no file OPTIONS-NNNNNN: give the directory of a RocksDB");
  return newest;
}

Result<OptionsText> ReadNewestOptions(const std::filesystem::path& directory) {
  const Result<std::filesystem::path> file = NewestOptionsFile(directory);
  if (!file.ok()) return file.status();
  std::ifstream in(file.value(), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) return Status::Error(file.value().string() + ": cannot be read");
  Result<OptionsText> options = ParseOptionsText(text);
  if (!options.ok()) return Status::Error(file.value().string() + ": " + options.status().message());
  return options;
}

}  // namespace weir
