#include "config/settings_format.h"

#include <algorithm>
#include <array>

#include "config/text/json_string.h"
#include "config/text/utf8.h"

namespace weir {
namespace {

using Cells = std::vector<std::string>;

std::string FullName(const SettingRow& row) { return "WEIR_" + row.name; }

std::string Aligned(const std::vector<Cells>& lines) {
  std::vector<size_t> widths(lines.front().size());
  for (const Cells& line : lines)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string out;
  for (const Cells& line : lines) {
    for (size_t i = 0; i + 1 < line.size(); ++i) out.append(line[i]).append(widths[i] - line[i].size() + 2, ' ');
    out.append(line.back()).append("\n");
  }
  return out;
}

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:,+@%").find(c) != std::string_view::npos;
}

// Within double quotes sh and systemd treat the same four characters specially, and no others.
std::string QuotedForShell(std::string_view text) {
  if (std::ranges::all_of(text, IsWordCharacter)) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (std::string_view("\"\\`$").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out + "\"";
}

// A path of the file system need not be UTF-8, but JSON must be.
std::string QuotedForJson(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const char c = text.front();
    if (length == 0) {
      out += "\\ufffd";
    } else if (JsonEscapeLetter(c) != 0) {
      AppendJsonEscape(c, &out);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out + "\"";
}

std::string MarkdownCell(std::string_view text, bool code) {
  if (text.empty()) return " |";
  std::string out = code ? " `" : " ";
  for (const char c : text) out.append(c == '|' ? "\\|" : std::string(1, c));
  return out + (code ? "` |" : " |");
}

constexpr std::string_view kForEmbedding =
    "Settings for programs that embed weir; they change nothing in weir's own programs:";

// Formats weir's own rows, then the rows for embedding below a line that says so.
template <typename Format>
std::string InTwoParts(const std::vector<SettingRow>& rows, std::string_view line_start, const Format& format) {
  std::vector<SettingRow> own;
  std::vector<SettingRow> others;
  for (const SettingRow& row : rows) (row.for_embedding ? others : own).push_back(row);
  if (others.empty()) return format(own);
  return format(own).append("\n").append(line_start).append(kForEmbedding).append("\n\n") + format(others);
}

std::string TableOf(const std::vector<SettingRow>& rows) {
  std::vector<Cells> lines = {{"SETTING", "VALUE", "UNIT", "RANGE", "FROM", "MEANING"}};
  for (const SettingRow& row : rows) {
    std::string from = row.source == FullName(row) ? "environment" : row.source;
    lines.push_back({FullName(row), Printable(row.value), row.unit, row.range, std::move(from), row.meaning});
  }
  return Aligned(lines);
}

std::string EnvOf(const std::vector<SettingRow>& rows) {
  std::string out;
  for (const SettingRow& row : rows) {
    Cells notes;
    if (!row.unit.empty()) notes.push_back(row.unit);
    if (!row.range.empty()) notes.push_back(row.range);
    notes.push_back(row.source == "default" ? "the default" : "default " + Printable(row.default_value));
    out += "# " + row.meaning + " (" + Join(notes, "; ") + ")\n";
    // A masked value must not become the setting of a program that reads this.
    out += (row.hidden ? "# " : "") + FullName(row) + "=" + QuotedForShell(row.value) + "\n";
  }
  return out;
}

std::string MarkdownOf(const std::vector<SettingRow>& rows) {
  std::string out = "| Setting | Default | Unit | Range | Meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const SettingRow& row : rows) {
    out += "|" + MarkdownCell(FullName(row), true) + MarkdownCell(row.default_value, true) +
           MarkdownCell(row.unit, false) + MarkdownCell(row.range, true) + MarkdownCell(row.meaning, false) + "\n";
  }
  return out;
}

}  // namespace

std::string SettingsAsTable(const std::vector<SettingRow>& rows) { return InTwoParts(rows, "", TableOf); }
std::string SettingsAsEnv(const std::vector<SettingRow>& rows) { return InTwoParts(rows, "# ", EnvOf); }
std::string SettingsAsMarkdown(const std::vector<SettingRow>& rows) { return InTwoParts(rows, "", MarkdownOf); }

std::string SettingsAsJson(const std::vector<SettingRow>& rows) {
  std::string out = "[";
  for (const SettingRow& row : rows) {
    const std::string name = FullName(row);
    const std::array<std::pair<std::string_view, std::string_view>, 8> members = {
        {{"name", name},
         {"value", row.value},
         {"default", row.default_value},
         {"source", row.source},
         {"unit", row.unit},
         {"range", row.range},
         {"meaning", row.meaning},
         {"for", row.for_embedding ? "programs that embed weir" : "weir"}}};
    out += &row == &rows.front() ? "\n  {" : ",\n  {";
    for (const auto& [key, value] : members) {
      if (key != "name") out += ", ";
      out += QuotedForJson(key) + ": " + QuotedForJson(value);
    }
    out += "}";
  }
  return out + (rows.empty() ? "]\n" : "\n]\n");
}

}  // namespace weir
