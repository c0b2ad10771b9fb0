#include "relay/watch/live/live_page.h"

#include <cstdio>
#include <utility>

#include "config/text/hex.h"
#include "config/text/name_hash.h"
#include "relay/operator/html.h"
#include "relay/process/version.h"

namespace weir {
namespace {

constexpr std::string_view kLiveHtml =
#include "live_html.inc"
    ;
constexpr std::string_view kModerationHtml =
#include "moderation_html.inc"
    ;
constexpr std::string_view kSignInHtml =
#include "sign_in_html.inc"
    ;
constexpr std::string_view kSignInForm =
#include "sign_in_form_html.inc"
    ;
constexpr std::string_view kPlotJs =
#include "plot_js.inc"
    ;
constexpr std::string_view kLiveJs =
#include "live_js.inc"
    ;
constexpr std::string_view kModerationJs =
#include "moderation_js.inc"
    ;
constexpr std::string_view kLiveCss =
#include "live_css.inc"
    ;

// These three texts concern browsers without JavaScript.
constexpr const char* kRefresh = "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>\n";
constexpr const char* kRenewed = "reloads every five seconds; to type, <a href=\"/live?still\">stop reloading</a>";
constexpr const char* kStill = "reloading is stopped; <a href=\"/live\">start it again</a>";

// Allows the page to load files from this relay only, and no inline scripts or styles.
HttpFields PageHeaders() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
           "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "same-origin"},
          {"Cache-Control", "no-store"},
          {"Vary", "Accept, Cookie"}};
}

std::string AddressOf(std::string_view path) {
  for (const LiveFile& file : LiveFiles()) {
    if (file.path != path) continue;
    char version[32];
    std::snprintf(version, sizeof(version), "?v=%016zx", std::hash<std::string_view>()(file.text));
    return std::string(path) + version;
  }
  return "";
}

std::string Script(std::string_view path) { return "<script src=\"" + AddressOf(path) + "\" defer></script>\n"; }

std::string Styles() { return "<link rel=\"stylesheet\" href=\"" + AddressOf("/live/live.css") + "\">\n"; }

std::string Cell(std::string_view tag, bool is_figure, std::string_view text, std::string_view more = "") {
  std::string cell = "<";
  cell.append(tag).append(more).append(is_figure ? " class=\"figure\">" : ">");
  return cell + HtmlEscaped(text) + "</" + std::string(tag) + ">";
}

std::string Html(const LiveTable& table) {
  std::string html = "<section class=\"card table\" data-table=\"" + table.name + "\"><h2>" + HtmlEscaped(table.title) +
                     "</h2><div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"" +
                     HtmlEscaped(table.title) + "\"><table><thead><tr>";
  for (const LiveColumn& column : table.columns) html += Cell("th", column.is_figure, column.title, " scope=\"col\"");
  html += "</tr></thead><tbody>";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) html += Cell("td", table.columns[i].is_figure, row[i]);
    html += "</tr>";
  }
  html += "</tbody></table></div>";
  std::string note = table.rows.empty() ? table.empty : "";
  if (table.left_out > 0) note = "and " + std::to_string(table.left_out) + " more";
  return html + "<p class=\"note\">" + HtmlEscaped(note) + "</p></section>\n";
}

std::string Html(const std::vector<LiveTable>& tables) {
  std::string html;
  for (const LiveTable& table : tables)
    if (!table.rows.empty() || !table.empty.empty()) html += Html(table);
  return html;
}

std::string Field(const SettingRow& row, const LiveSetting& setting) {
  const std::string id = "set-" + setting.name;
  std::string html = "<p class=\"field\"><label for=\"" + id + "\">WEIR_" + setting.name + "</label>";
  const std::string named = " id=\"" + id + "\" name=\"" + setting.name + "\" aria-describedby=\"" + id + "-about\"";
  if (row.range.find('|') == row.range.npos) {
    html += "<input" + named + " inputmode=\"decimal\" autocomplete=\"off\" size=\"8\" value=\"" +
            HtmlEscaped(setting.value) + "\">";
  } else {
    html += "<select" + named + ">";
    for (size_t begin = 0; begin <= row.range.size();) {
      const size_t end = std::min(row.range.find('|', begin), row.range.size());
      const std::string word = row.range.substr(begin, end - begin);
      html += "<option" + std::string(word == setting.value ? " selected>" : ">") + HtmlEscaped(word) + "</option>";
      begin = end + 1;
    }
    html += "</select>";
  }
  html += "<input type=\"hidden\" name=\"was:" + setting.name + "\" value=\"" + HtmlEscaped(setting.value) + "\">";
  return html + "<small id=\"" + id + "-about\">" + HtmlEscaped(row.meaning + " (" + row.range + ")") +
         "</small></p>\n";
}

// Returns the title of the setting's group in the form. The settings of one controller are a group.
std::string_view LegendOf(std::string_view setting) {
  if (setting.starts_with("IMPORT_")) return "Bulk";
  if (setting.starts_with("RATE_LIMIT_READ_")) return "Reads";
  return setting.starts_with("RATE_LIMIT_") ? "Writes" : "Log";
}

std::string Fields(const std::vector<SettingRow>& rows, const std::vector<LiveSetting>& settings) {
  std::string html;
  std::string_view legend;
  for (size_t i = 0; i < rows.size() && i < settings.size(); ++i) {
    if (const std::string_view next = LegendOf(rows[i].name); next != legend) {
      html += legend.empty() ? "<fieldset>" : "</fieldset>\n<fieldset>";
      html.append("<legend>").append(next).append("</legend>\n");
      legend = next;
    }
    html += Field(rows[i], settings[i]);
  }
  return html + "</fieldset>\n";
}

// Returns a line WEIR_NAME=VALUE for each changed setting, for a file with the relay's environment.
std::string Changed(const std::vector<LiveSetting>& settings) {
  std::string lines;
  for (const LiveSetting& setting : settings)
    if (setting.value != setting.at_start) lines += "WEIR_" + setting.name + "=" + setting.value + "\n";
  return lines;
}

std::string SignInForm(std::string_view problem, std::string_view path) {
  return FilledHtml(kSignInForm, {{"problem", HtmlEscaped(problem)}, {"page", HtmlEscaped(path)}});
}

HttpResponse HtmlPage(std::string_view html, const HtmlWords& words, int status = 200) {
  return {.status = status,
          .content_type = "text/html; charset=utf-8",
          .body = FilledHtml(html, words),
          .headers = PageHeaders()};
}

}  // namespace

const std::vector<LiveFile>& LiveFiles() {
  static const std::vector<LiveFile> files = {{"/live/plot.js", "text/javascript; charset=utf-8", kPlotJs},
                                              {"/live/live.js", "text/javascript; charset=utf-8", kLiveJs},
                                              {"/live/moderation.js", "text/javascript; charset=utf-8", kModerationJs},
                                              {"/live/live.css", "text/css; charset=utf-8", kLiveCss}};
  return files;
}

HttpResponse ResponseOf(const LiveFile& file) {
  return {.content_type = std::string(file.content_type),
          .body = std::string(file.text),
          .headers = {{"Cache-Control", "public, max-age=31536000, immutable"}, {"X-Content-Type-Options", "nosniff"}}};
}

HttpResponse LivePage(const LivePageParts& parts, const LiveMoment& moment) {
  const LiveState& state = moment.state;
  HtmlWords words = {{"relay", parts.relay},
                     {"summary", state.summary},
                     {"write", state.write},
                     {"bulk", state.bulk},
                     {"read", state.read},
                     {"mood", std::string(NameOf(state.mood))},
                     {"known_by", std::string(parts.known_by)},
                     {"changed", Changed(state.settings)},
                     {"version", std::string(Version())}};
  for (auto& [word, text] : words) text = HtmlEscaped(text);
  words.insert(words.end(), {{"styles", Styles()},
                             {"scripts", Script("/live/plot.js") + Script("/live/live.js")},
                             {"refresh", parts.is_still ? "" : kRefresh},
                             {"renewal", parts.is_still ? kStill : kRenewed},
                             {"tables", Html(state.tables)},
                             {"fields", Fields(parts.settings, state.settings)},
                             {"sign_in", SignInForm("", kLivePath)},
                             {"hidden", Changed(state.settings).empty() ? "hidden" : ""}});
  return HtmlPage(kLiveHtml, words);
}

HttpResponse ModerationPage(const LivePageParts& parts, const LiveMoment& moment) {
  std::string standing;
  for (const LiveTable& table : moment.state.tables)
    if (table.name == "standing") standing = Html(table);
  return HtmlPage(kModerationHtml, {{"relay", HtmlEscaped(parts.relay)},
                                    {"known_by", HtmlEscaped(parts.known_by)},
                                    {"version", HtmlEscaped(Version())},
                                    {"styles", Styles()},
                                    {"scripts", Script("/live/moderation.js")},
                                    {"standing", standing}});
}

HttpResponse SignInPage(const std::string& relay, int status, std::string_view problem, std::string_view path) {
  return HtmlPage(kSignInHtml,
                  {{"relay", HtmlEscaped(relay)}, {"styles", Styles()}, {"sign_in", SignInForm(problem, path)}},
                  status);
}

}  // namespace weir
