#include "relay/limiters/quota/quota_own_command.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "config/settings.h"
#include "config/text/json_writer.h"
#include "config/text/parse.h"
#include "relay/limiters/quota/count_tokens.h"
#include "relay/limiters/quota/quota_output.h"
#include "throttle/limits/quota/migrate.h"
#include "throttle/limits/quota/open_store.h"

namespace weir {
namespace {

Result<std::unique_ptr<QuotaStore>> OpenSide(const QuotaStoreSettings& settings, const std::string& name,
                                             bool must_exist) {
  if (name == "memory") return Status::Error(kMemoryIsGone);
  QuotaStoreSettings side = settings;
  side.store = name;
  return OpenQuotaStore(side, must_exist);
}

// Returns true if both names are equal, or are names of the same file.
bool IsSameStore(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto path = [](const std::string& name) {
    const bool is_file = name.starts_with("yaml:") || name.starts_with("sqlite:");
    return is_file ? name.substr(name.find(':') + 1) : std::string();
  };
  std::error_code missing;
  return !path(a).empty() && !path(b).empty() && std::filesystem::equivalent(path(a), path(b), missing);
}

// Returns the text to count: the argument, or standard input. If standard input has more than `most` bytes, returns a
// text of more than `most` bytes, for which CountTokens reports that it is too long.
Result<std::string> TextOf(const QuotaFlags& flags, uint64_t most) {
  if (flags.text != "-") return flags.text;
  std::string text;
  char piece[16 << 10];
  while (text.size() <= most) {
    const ssize_t bytes = read(STDIN_FILENO, piece, sizeof piece);
    if (bytes < 0) return Status::Error(std::string("cannot read standard input: ") + std::strerror(errno));
    if (bytes == 0) break;
    text.append(piece, static_cast<size_t>(bytes));
  }
  return text;
}

// Returns true for the usual names that Google gives to the models of the Gemini API.
bool IsOfGemini(std::string_view model) { return model.starts_with("gemini") || model.starts_with("gemma"); }

}  // namespace

int MigrateCommand(const QuotaFlags& flags) {
  QuotaStoreSettings settings;
  SettingTable table;
  Declare(table, settings);
  if (const Status status = table.Load(ProcessEnvironment()); !status.ok()) return Complain(status.message());
  if (IsSameStore(flags.from, flags.to)) return Complain(Printable(flags.from) + " cannot be migrated to itself");
  const auto from = OpenSide(settings, flags.from, true);
  if (!from.ok()) return Complain(from.status().message());
  const auto to = OpenSide(settings, flags.to, false);
  if (!to.ok()) return Complain(to.status().message());
  if (from.value()->name() == to.value()->name())
    return Complain(from.value()->name() + " cannot be migrated to itself");
  const Result<Migrated> migrated = MigrateQuotas(*from.value(), *to.value(), flags.force);
  if (!migrated.ok()) return Complain(migrated.status().message());
  const auto [quotas, models] = migrated.value();
  if (!flags.json) {
    return Print(from.value()->name() + " → " + to.value()->name() + ": " + std::to_string(quotas) +
                     " quotas, usage of " + std::to_string(models) + " models\n",
                 kExitAllowed);
  }
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{').Member("from").String(from.value()->name());
  json.Member("to").String(to.value()->name());
  json.Member("quotas").Number(quotas);
  json.Member("models").Number(models);
  return Print(std::move(json.Close('}')).Text(), kExitAllowed);
}

int CountCommand(const QuotaFlags& flags) {
  CountTokensSettings settings;
  SettingTable table;
  Declare(table, settings);
  if (const Status status = table.Load(ProcessEnvironment()); !status.ok()) return Complain(status.message());
  const auto row = std::ranges::find(table.rows(), "COUNT_TOKENS_URL", &SettingRow::name);
  if (row->source == "default" && !IsOfGemini(flags.model())) {
    return Complain(Printable(flags.model()) +
                    " does not look like a model of the Gemini API (gemini…, gemma…); set WEIR_COUNT_TOKENS_URL to the "
                    "server that counts its tokens");
  }
  const Result<std::string> text = TextOf(flags, settings.max_text_bytes);
  if (!text.ok()) return Complain(text.status().message());
  const Result<int64_t> tokens = CountTokens(settings, flags.model(), text.value());
  if (!tokens.ok()) return Complain(tokens.status().message());
  if (!flags.json) return Print(std::to_string(tokens.value()) + "\n", kExitAllowed);
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{').Member("model").String(flags.model());
  json.Member("tokens").Number(tokens.value());
  return Print(std::move(json.Close('}')).Text(), kExitAllowed);
}

}  // namespace weir
