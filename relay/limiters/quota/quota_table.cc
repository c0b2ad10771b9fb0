#include "relay/limiters/quota/quota_table.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "config/text/in_words.h"
#include "config/text/parse.h"
#include "config/text/readable.h"
#include "config/text/rfc3339.h"
#include "config/text/utf8.h"
#include "relay/process/http_error_words.h"

namespace weir {
namespace {

namespace dom = simdjson::dom;
using Cells = std::vector<std::string>;

int64_t Whole(const dom::element& object, std::string_view name) {
  int64_t value = 0;
  return object[name].get(value) == simdjson::SUCCESS ? value : 0;
}
double Real(const dom::element& object, std::string_view name) {
  double value = 0;
  return object[name].get(value) == simdjson::SUCCESS ? value : 0;
}
std::string_view Text(const dom::element& object, std::string_view name) {
  std::string_view value;
  return object[name].get(value) == simdjson::SUCCESS ? value : std::string_view();
}
bool Flag(const dom::element& object, std::string_view name) {
  bool value = false;
  return object[name].get(value) == simdjson::SUCCESS && value;
}

std::optional<ModelQuota> ReadQuota(const dom::element& owner) {
  dom::element quota;
  if (owner["quota"].get(quota) != simdjson::SUCCESS) return std::nullopt;
  return ModelQuota{
      .max_rpm = Whole(quota, "max_rpm"), .max_tpm = Whole(quota, "max_tpm"), .max_rpd = Whole(quota, "max_rpd")};
}

ModelUsage ReadUsage(const dom::element& owner) {
  dom::element usage;
  if (owner["usage"].get(usage) != simdjson::SUCCESS) return {};
  return {.rpm = Whole(usage, "rpm"),
          .tpm = Whole(usage, "tpm"),
          .rpd = Whole(usage, "rpd"),
          .day_start = ParseSecond(Text(usage, "day_start")).value_or(std::chrono::sys_seconds()),
          .open_reservations = Whole(usage, "open_reservations")};
}

std::optional<ModelStats> ReadModel(const dom::element& element) {
  if (Text(element, "model").empty()) return std::nullopt;
  return ModelStats{
      .model = std::string(Text(element, "model")), .quota = ReadQuota(element), .usage = ReadUsage(element)};
}

// Returns a bar of eight cells. At least one cell is filled if anything is used; all cells are filled only if the limit
// is used up.
std::string Bar(int64_t used, int64_t limit) {
  constexpr int kCells = 8;
  if (limit <= 0) return std::string(kCells + 1, ' ');
  const double share = static_cast<double>(used) / static_cast<double>(limit);
  int full = static_cast<int>(std::floor(std::clamp(share, 0.0, 1.0) * kCells));
  if (used > 0) full = std::max(full, 1);
  std::string bar;
  for (int cell = 0; cell < kCells; ++cell) bar += cell < full ? "█" : "░";
  return bar + " ";
}

// Returns the text if it is at most `columns` characters wide. Otherwise returns its beginning and "…", together that
// wide.
std::string Cut(const std::string& text, size_t columns) {
  return CharactersIn(text) <= columns ? text : std::string(FirstCharacters(text, columns - 1)) + "…";
}

struct Share {
  int64_t used = 0;
  int64_t limit = 0;
  double part() const { return limit > 0 ? static_cast<double>(used) / static_cast<double>(limit) : 0; }
};
struct Shares {
  explicit Shares(const ModelStats& stats)
      : requests{stats.usage.rpm, stats.quota ? stats.quota->max_rpm : 0},
        tokens{stats.usage.tpm, stats.quota ? stats.quota->max_tpm : 0},
        of_day{stats.usage.rpd, stats.quota ? stats.quota->max_rpd : 0} {}
  Share requests, tokens, of_day;

  double fullest() const { return std::max({requests.part(), tokens.part(), of_day.part()}); }
};
// Returns a cell of the table for each share. If `bars` is true, the cells begin with bars, which are aligned.
Cells ShareCells(const std::vector<Share>& shares, bool bars) {
  Cells cells;
  size_t widest = 0;
  for (const Share& share : shares) {
    std::string& cell = cells.emplace_back(std::to_string(share.used));
    if (share.limit > 0) cell += "/" + std::to_string(share.limit);
    widest = std::max(widest, cell.size());
  }
  for (size_t i = 0; bars && i < cells.size(); ++i)
    cells[i] = Bar(shares[i].used, shares[i].limit) + std::string(widest - cells[i].size(), ' ') + cells[i];
  return cells;
}

size_t WidestLine(std::string_view text) {
  size_t widest = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    widest = std::max(widest, CharactersIn(text.substr(0, end)));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return widest;
}

std::string Of(std::string_view what, int64_t used, int64_t limit) {
  std::string line = "  " + std::string(what) + " ";
  if (limit <= 0) return line + std::to_string(used) + " used, no limit\n";
  return line + std::to_string(used) + " of " + std::to_string(limit) + " used\n";
}

std::string Headline(const dom::element& decision, std::string_view yes) {
  const std::string_view code = Text(decision, "code");
  std::string line(Flag(decision, "allowed") ? yes : "refused");
  if (Flag(decision, "again")) line += ", as before";
  if (Flag(decision, "shadowed")) line += ", because shadow mode refuses nothing";
  line += ": " + AsText(Text(decision, "model")) + ", " + std::to_string(Whole(decision, "tokens")) + " tokens";
  if (code != "ok") line += ": " + AsText(code);
  if (!Text(decision, "tier").empty()) line += " by " + AsText(Text(decision, "tier"));
  return line + "\n";
}

// Returns an amount of the tier as text. Amounts of money have decimals, all others are whole numbers.
std::string AmountOf(const dom::element& tier, std::string_view name) {
  int64_t whole = 0;
  if (tier[name].get(whole) == simdjson::SUCCESS) return std::to_string(whole);
  return FormatNumber(Real(tier, name));
}

std::string TierTable(const dom::element& decision) {
  dom::array tiers;
  if (decision["tiers"].get(tiers) != simdjson::SUCCESS) return "";
  std::vector<Cells> rows = {{"  tier", "counted for", "limit", "used", "left"}};
  for (const dom::element tier : tiers) {
    const std::string period = AsText(Text(tier, "per"));
    const Duration per = FromSeconds(std::clamp(Real(tier, "per_seconds"), 0.0, 1e9));
    std::string limit = AmountOf(tier, "amount") + " " + AsText(Text(tier, "unit"));
    limit += !period.empty()          ? " in the " + period + " that ends " + AsText(Text(tier, "ends"))
             : per > Duration::zero() ? " in " + InWords(per)
                                      : " at once";
    if (Real(tier, "burst") > 0) limit += ", " + AmountOf(tier, "burst") + " at once";
    rows.push_back({"  " + AsText(Text(tier, "tier")), AsText(Text(tier, "key")), std::move(limit),
                    AmountOf(tier, "used"), AmountOf(tier, "remaining")});
  }
  return rows.size() > 1 ? Aligned(rows, false) : "";
}

}  // namespace

Result<AllModelStats> ReadModelsPage(std::string_view json) {
  const Status bad = Status::Error("the answer has no models");
  dom::parser parser;
  dom::element answer;
  if (parser.parse(json.data(), json.size()).get(answer) != simdjson::SUCCESS) return bad;
  AllModelStats page;
  dom::array list;
  if (answer["models"].get(list) == simdjson::SUCCESS) {
    for (const dom::element element : list) {
      std::optional<ModelStats> model = ReadModel(element);
      if (!model) return bad;
      page.models.push_back(*std::move(model));
    }
    page.next = Text(answer, "next");
    if (dom::element unavailable; answer["unavailable"].get(unavailable) == simdjson::SUCCESS) {
      page.problem = Text(unavailable, "problem");
      if (unavailable["models"].get(list) == simdjson::SUCCESS)
        for (const dom::element name : list) page.unavailable.emplace_back(name.get_string().value_unsafe());
    }
    return page;
  }
  std::optional<ModelStats> model = ReadModel(answer);
  if (!model) return bad;
  page.models.push_back(*std::move(model));
  return page;
}

Result<std::vector<ModelStats>> ReadModelsJson(std::string_view json) {
  Result<AllModelStats> page = ReadModelsPage(json);
  if (!page.ok()) return page.status();
  return std::move(page.value().models);
}

std::string UsageTable(const std::vector<ModelStats>& models, WallTime now, bool bars, size_t columns) {
  std::vector<Share> requests, tokens, of_day;
  for (const ModelStats& stats : models) {
    const Shares shares(stats);
    requests.push_back(shares.requests);
    tokens.push_back(shares.tokens);
    of_day.push_back(shares.of_day);
  }
  const Cells rpm = ShareCells(requests, bars), tpm = ShareCells(tokens, bars), rpd = ShareCells(of_day, false);
  std::vector<Cells> rows = {{"model", "requests/min", "tokens/min", "requests/day", "reserved", "day ends in"}};
  for (size_t i = 0; i < models.size(); ++i) {
    const ModelUsage& usage = models[i].usage;
    const bool has_day = usage.day_start != WallTime{} && usage.day_start + kDay > now;
    rows.push_back({Printable(models[i].model), rpm[i], tpm[i], rpd[i], std::to_string(usage.open_reservations),
                    has_day ? InWords(usage.day_start + kDay - now) : ""});
  }
  std::string table = Aligned(rows, true);
  const size_t widest = WidestLine(table);
  if (widest <= columns) return table;
  if (bars) return UsageTable(models, now, false, columns);
  size_t names = 0;
  for (const Cells& row : rows) names = std::max(names, CharactersIn(row[0]));
  constexpr size_t kShortestName = 8;
  const size_t room = names > widest - columns ? std::max(names - (widest - columns), kShortestName) : kShortestName;
  for (Cells& row : rows) row[0] = Cut(row[0], room);
  return Aligned(rows, true);
}

void SortFullestFirst(std::vector<ModelStats>& models) {
  std::ranges::stable_sort(models, std::ranges::greater(), [](const ModelStats& stats) {
    return std::pair(stats.usage != ModelUsage{}, Shares(stats).fullest());
  });
}

std::string QuotaTable(const std::vector<ModelStats>& models) {
  const auto limit = [](int64_t most) { return most > 0 ? std::to_string(most) : std::string("no limit"); };
  std::vector<Cells> rows = {{"model", "requests/min", "tokens/min", "requests/day"}};
  for (const ModelStats& stats : models) {
    if (stats.quota) {
      rows.push_back({Printable(stats.model), limit(stats.quota->max_rpm), limit(stats.quota->max_tpm),
                      limit(stats.quota->max_rpd)});
    } else {
      rows.push_back({Printable(stats.model), "not stated", "not stated", "not stated"});
    }
  }
  return Aligned(rows, true);
}

std::optional<std::string> DecisionWords(std::string_view json, std::string_view yes) {
  dom::parser parser;
  dom::element decision;
  if (!IsAllowed(json) || parser.parse(json.data(), json.size()).get(decision) != simdjson::SUCCESS)
    return std::nullopt;
  std::string words = Headline(decision, yes);
  if (!Text(decision, "reason").empty()) words += "  " + AsText(Text(decision, "reason")) + "\n";
  const bool says_when = Text(decision, "reason").find("try again in ") != std::string_view::npos;
  if (const double retry = Real(decision, "retry_after_seconds"); retry > 0 && !says_when)
    words += "  try again in " + InWords(retry) + "\n";
  if (const std::string_view id = Text(decision, "reservation"); !id.empty())
    words += "  reservation " + AsText(id) + "\n";
  if (const int64_t priority = Whole(decision, "priority"); priority > 0)
    words += "  priority " + std::to_string(priority) + "\n";
  if (const std::optional<ModelQuota> quota = ReadQuota(decision)) {
    const ModelUsage usage = ReadUsage(decision);
    words += Of("requests/min", usage.rpm, quota->max_rpm) + Of("tokens/min  ", usage.tpm, quota->max_tpm) +
             Of("requests/day", usage.rpd, quota->max_rpd);
  }
  return words + TierTable(decision);
}

std::optional<std::string> SettledWords(std::string_view json, std::string_view done) {
  dom::parser parser;
  dom::element settled;
  if (parser.parse(json.data(), json.size()).get(settled) != simdjson::SUCCESS) return std::nullopt;
  if (Flag(settled, "extended"))
    return std::string(done) + ": " + AsText(Text(settled, "model")) + ", " +
           std::to_string(Whole(settled, "reserved_tokens")) + " tokens, for " + InWords(Real(settled, "ttl_seconds")) +
           "\n";
  const double goes_on_for = Real(settled, "ttl_seconds");
  if (!Flag(settled, "settled") && goes_on_for <= 0) return std::nullopt;
  std::string more = Flag(settled, "late") ? " (late: it had been given back)" : "";
  if (goes_on_for > 0) more = " so far; it has " + InWords(goes_on_for) + " more";
  return std::string(done) + ": " + AsText(Text(settled, "model")) + ", " +
         std::to_string(Whole(settled, "reserved_tokens")) + " tokens were reserved, " +
         std::to_string(Whole(settled, "actual_tokens")) + " used" + more + "\n";
}

std::optional<bool> IsAllowed(std::string_view json) {
  dom::parser parser;
  dom::element answer;
  bool allowed = false;
  const bool says = parser.parse(json.data(), json.size()).get(answer) == simdjson::SUCCESS &&
                    answer["allowed"].get(allowed) == simdjson::SUCCESS;
  return says ? std::optional(allowed) : std::nullopt;
}

std::string ErrorMessage(std::string_view json) { return AsText(ErrorMessageIn(json).value_or("")); }

bool StoreIsAway(std::string_view json) {
  dom::parser parser;
  dom::element decision;
  return parser.parse(json.data(), json.size()).get(decision) == simdjson::SUCCESS && decision.is_object() &&
         Text(decision, "code") == NameOf(QuotaCode::kStoreUnavailable) && !Flag(decision, "allowed");
}

std::string Aligned(const std::vector<Cells>& rows, bool numbers) {
  std::vector<size_t> widths;
  for (const Cells& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], CharactersIn(row[i]));
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - CharactersIn(row[i]), ' ');
      if (i > 0) line += "  ";
      line += numbers && i > 0 ? blanks + row[i] : row[i] + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace weir
