#include "relay/watch/top/top_view.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/text/rfc3339.h"
#include "relay/watch/top/panels.h"

namespace weir {
namespace {

constexpr size_t kFewestColumns = 20;
constexpr size_t kFewestLines = 5;
constexpr size_t kRowsInOverview = 5;  // rows of a table, if the screen has fewer than 40 lines
constexpr size_t kMostSummaryLines = 4;
constexpr size_t kMostProblemLines = 6;

using Names = std::span<const std::string_view>;
constexpr std::array<std::string_view, 10> kOverviewTables = {"imports",  "exports", "links",     "clients", "kinds",
                                                              "refusals", "marks",   "latencies", "memory",  "levels"};
constexpr std::array<std::string_view, 6> kClientsTables = {"clients",  "connections", "kinds",
                                                            "refusals", "standing",    "latencies"};
constexpr std::array<std::string_view, 6> kImportsTables = {"imports", "exports", "links",
                                                            "marks",   "delete",  "retention"};
constexpr std::array<std::string_view, 4> kLimitersTables = {"quotas", "keys", "endpoints", "ratelimit"};
constexpr std::array<std::string_view, 8> kEngineTables = {"signals", "controllers", "memory",       "levels",
                                                           "engine",  "changed",     "stored_kinds", "stored_days"};
constexpr std::array<Names, 5> kTablesOf = {kOverviewTables, kClientsTables, kImportsTables, kLimitersTables,
                                            kEngineTables};

bool IsKnown(std::string_view table) {
  return std::ranges::any_of(kTablesOf,
                             [table](Names names) { return std::ranges::find(names, table) != names.end(); });
}

std::vector<const LiveTable*> TablesOf(const FeedState& state, TopView view) {
  std::vector<const LiveTable*> tables;
  for (const std::string_view name : kTablesOf[static_cast<size_t>(view)]) {
    const LiveTable* table = state.Find(name);
    const bool says_something = table != nullptr && (view != TopView::kOverview || !table->rows.empty());
    if (says_something) tables.push_back(table);
  }
  // The limiters' view also shows the tables that this program does not know, such as those of a newer relay.
  if (view != TopView::kLimiters) return tables;
  for (const LiveTable& table : state.tables)
    if (!IsKnown(table.name)) tables.push_back(&table);
  return tables;
}

std::string UpperCase(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

Ink InkOf(const std::string& mood) {
  if (mood == "calm") return Ink::kCalm;
  return mood == "limiting" || mood == "unthrottled" ? Ink::kLimiting : Ink::kAlarm;
}

std::string TimeOfDay(double at) {
  const std::string time = FormatTime(WallTime(std::chrono::seconds(std::llround(std::floor(std::max(at, 0.0))))));
  return time.substr(11, 8) + " UTC";
}

void PutTitle(Screen& screen, const Watched& watched) {
  const FeedState& state = watched.state;
  const std::string right = watched.origin + "  " + TimeOfDay(state.now.at);
  const size_t width = WidthOf(Shown(right, screen.charset()));
  const bool has_room = screen.width() > width + 24;
  const size_t end = has_room ? screen.width() - width - 3 : screen.width();
  size_t column = screen.Put(0, 1, state.name, Ink::kStrong, end - 1);
  if (column + 4 < end)
    screen.Put(0, column + 2, "weir " + state.version + " on " + state.store, Ink::kSoft, end - column - 2);
  if (has_room) screen.PutRight(0, screen.width() - 1, right, Ink::kSoft);
}

// Draws the first lines: the relay's name, its condition and a sentence about it, or what is wrong with the connection.
Screen Header(const Watched& watched, const Look& look, TimePoint now) {
  const bool refused = watched.link == Watched::Link::kRefused;
  const bool lost = refused || watched.link == Watched::Link::kLost;
  const std::string badge = refused ? " REFUSED " : lost ? " NO ANSWER " : " " + UpperCase(watched.state.mood) + " ";
  const size_t indent = 1 + WidthOf(Shown(badge, look.charset)) + 1;
  const std::vector<std::string> lines =
      Wrapped(lost ? LinkInWords(watched, now) : watched.state.summary,
              std::max<size_t>(10, look.width - std::min(look.width, indent + 1)), look.charset);
  const size_t most = lost ? kMostProblemLines : look.height < 16 ? 1 : kMostSummaryLines;
  const size_t shown = std::clamp<size_t>(lines.size(), 1, most);
  // Reserves two lines for the sentence if there is room, so that the lines below do not move when it gets longer.
  Screen screen(look.width, 1 + std::max<size_t>(shown, look.height < 16 ? 1 : 2), look.charset);
  PutTitle(screen, watched);
  screen.Put(1, 1, badge, lost ? Ink::kAlarm : InkOf(watched.state.mood));
  for (size_t i = 0; i < std::min(lines.size(), shown); ++i) {
    const bool is_cut = i + 1 == shown && lines.size() > shown;
    screen.Put(1 + i, indent, is_cut ? lines[i] + " …" : lines[i], Ink::kStrong);
  }
  return screen;
}

Screen Help(PanelShape shape) {
  return WordedPanel(
      {{"1 … 5", "the views; Tab, ← and → go from one to the next", Ink::kStrong},
       {"↑ ↓", "scroll by a line, PageUp and PageDown by a screen, Home and End all the way", Ink::kStrong},
       {"? h", "opens and closes this help", Ink::kStrong},
       {"q", "ends weir top, as Ctrl-C does", Ink::kStrong},
       {"", ""},
       {"level",
        "the level of the signal that limits this class of work, or else of the highest signal; at 1.0 the engine "
        "would brake by itself",
        Ink::kSoft},
       {"of", "the setpoint, at which the controller of the class holds the level", Ink::kSoft},
       {"…min", "the level of the last minutes, five seconds a column: a full block is at the setpoint or above",
        Ink::kSoft},
       {"pass/s", "operations that passed the gates in the last second; refused/s those that were refused", Ink::kSoft},
       {"wait", "mean time that they waited at the gates; waiting: how many wait now", Ink::kSoft},
       {"OK", "time from an EVENT to its OK, EOSE from a REQ to its EOSE: median and p99 of the last ten seconds",
        Ink::kSoft},
       {"", ""},
       {"more", "relay/OPERATING.md, Watch it live; a browser shows the same at /live, and changes settings",
        Ink::kSoft}},
      10, shape);
}

Screen Body(const Watched& watched, const Look& look) {
  const PanelShape shape{look.width, look.charset};
  if (look.help) return Help(shape);
  const FeedState& state = watched.state;
  std::vector<Screen> panels;
  if (watched.link == Watched::Link::kPolled) panels.push_back(WordedPanel({{"", LinkInWords(watched, {})}}, 1, shape));
  if (look.view == TopView::kOverview) {
    panels.push_back(ClassesPanel(watched, shape));
    panels.push_back(ReasonsPanel(state, shape));
    panels.push_back(FiguresPanel(state, shape));
  }
  std::vector<Screen> tables;
  const size_t rows = look.view == TopView::kOverview && look.height < 40 ? kRowsInOverview : LiveTable::kMostRows;
  for (const LiveTable* table : TablesOf(state, look.view))
    tables.push_back(TablePanel(*table, {ColumnWidth(look.width), look.charset}, rows));
  if (!tables.empty()) panels.push_back(InColumns(tables, shape));
  if (panels.empty()) {
    panels.push_back(WordedPanel({{"",
                                   "No request has asked for a quota of a model, a limit by key, an endpoint that "
                                   "queues or one of Envoy's rate limits yet."}},
                                 1, shape));
  }
  return Stacked(panels, shape);
}

void PutKeys(Screen& screen, const Look& look, size_t hidden) {
  const size_t row = look.height - 1;
  const bool with_words = look.width >= 72;
  size_t column = 1;
  for (size_t i = 0; i < kTopViewNames.size(); ++i) {
    const bool is_shown = !look.help && i == static_cast<size_t>(look.view);
    std::string key = std::to_string(i + 1);
    if (with_words || is_shown) key.append(" ").append(kTopViewNames[i]);
    column = screen.Put(row, column, key, is_shown ? Ink::kMarked : Ink::kSoft) + (with_words ? 2 : 1);
  }
  column = screen.Put(row, column, with_words ? "? help" : "?", look.help ? Ink::kMarked : Ink::kSoft) +
           (with_words ? 2 : 1);
  column = screen.Put(row, column, with_words ? "q end" : "q", Ink::kSoft) + 1;
  const std::string more = "↓ " + std::to_string(hidden);
  if (hidden > 0 && column + WidthOf(Shown(more, look.charset)) < look.width)
    screen.PutRight(row, look.width - 1, more, Ink::kStrong);
}

Drawn TooSmall(const Look& look) {
  Drawn drawn{.screen = Screen(look.width, look.height, look.charset)};
  const std::vector<std::string> lines = Wrapped("too small for weir top: at least " + std::to_string(kFewestColumns) +
                                                     " × " + std::to_string(kFewestLines) + " are needed",
                                                 look.width, look.charset);
  for (size_t i = 0; i < lines.size(); ++i) drawn.screen.Put(i, 0, lines[i]);
  return drawn;
}

}  // namespace

std::string LinkInWords(const Watched& watched, TimePoint now) {
  using Link = Watched::Link;
  if (watched.link == Link::kLive) return "";
  if (watched.link == Link::kPolled)
    return "The state is read every five seconds, because no events arrive" +
           (watched.problem.empty() ? "" : " (" + watched.problem + ")") + "; something on the way may hold them back.";
  if (watched.link == Link::kRefused) return watched.problem;
  const int64_t silent = std::chrono::floor<std::chrono::seconds>(now - watched.heard).count();
  return "no answer from " + watched.origin + " for " + std::to_string(std::max<int64_t>(silent, 0)) +
         " s, trying again" + (watched.problem.empty() ? "" : ": " + watched.problem);
}

Drawn Draw(const Watched& watched, const Look& look, TimePoint now) {
  if (look.width < kFewestColumns || look.height < kFewestLines) return TooSmall(look);
  const Screen header = Header(watched, look, now);
  const Screen body = Body(watched, look);
  const size_t first = std::min(header.height(), look.height - 2);
  const size_t page = look.height - first - (look.keys ? 1 : 0);
  Drawn drawn{.screen = Screen(look.width, look.height, look.charset),
              .page = page,
              .furthest = body.height() - std::min(body.height(), page)};
  const size_t scroll = std::min(look.scroll, drawn.furthest);
  drawn.screen.Copy(header, 0, first, 0);
  drawn.screen.Copy(body, scroll, page, first);
  if (look.keys) PutKeys(drawn.screen, look, drawn.furthest - scroll);
  return drawn;
}

Screen DrawWhole(const Watched& watched, Look look, TimePoint now) {
  constexpr size_t kHighEnough = 10'000;
  look.width = std::max(look.width, kFewestColumns);
  look.height = kHighEnough;
  const Screen header = Header(watched, look, now);
  const Screen body = Body(watched, look);
  Screen whole(look.width, header.height() + body.height(), look.charset);
  whole.Copy(header, 0, header.height(), 0);
  whole.Copy(body, 0, body.height(), header.height());
  return whole;
}

}  // namespace weir
