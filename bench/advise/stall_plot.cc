#include "bench/advise/stall_plot.h"

#include <algorithm>
#include <utility>

#include "config/text/in_words.h"
#include "config/text/readable.h"

namespace weir {
namespace {

constexpr double kWidth = 960;
constexpr double kLeft = 60;
constexpr double kPlotWidth = kWidth - kLeft - 20;
constexpr double kPanelHeight = 110;
constexpr double kPanelPitch = 150;
constexpr double kHeadHeight = 30;

constexpr std::string_view kDelayedColour = "#f0b040";
constexpr std::string_view kStoppedColour = "#d03030";
constexpr std::string_view kWeirColour = "#207040";
constexpr std::string_view kAloneColour = "#a04020";
constexpr std::string_view kLogColour = "#204080";

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : AsText(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

// A panel: one diagram over time. Its lines share one scale from 0 to the highest value.
class Panel {
 public:
  Panel(double top, std::string title, double highest) : top_(top), highest_(std::max(highest, 1e-9)) {
    svg_ = Text(kLeft, top - 5, std::move(title)) + Text(2, top + 10, Fixed(highest_, highest_ < 10 ? 1 : 0)) +
           Text(2, Y(0), "0");
    svg_ += "<path d='M" + At(kLeft, Y(0)) + "H" + Fixed(kLeft + kPlotWidth, 1) + "' stroke='#808080'/>\n";
  }

  void Line(const std::vector<double>& values, std::string_view colour) {
    if (values.empty()) return;
    std::string path = "<polyline fill='none' stroke='" + std::string(colour) + "' points='";
    const double step = kPlotWidth / static_cast<double>(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const double x = kLeft + step * static_cast<double>(i);
      path += At(x, Y(values[i])) + " " + At(x + step, Y(values[i])) + " ";
    }
    svg_ += path + "'/>\n";
  }
  // Colours the part of the panel from `from` to `to`, which are shares of its width, as strongly as `share` says.
  void Band(double from, double to, double share, std::string_view colour) {
    svg_ += "<rect x='" + Fixed(kLeft + from * kPlotWidth, 2) + "' y='" + Fixed(top_, 1) + "' width='" +
            Fixed((to - from) * kPlotWidth, 2) + "' height='" + Fixed(kPanelHeight, 0) + "' fill='" +
            std::string(colour) + "' fill-opacity='" + Fixed(0.6 * std::clamp(share, 0.0, 1.0), 2) + "'/>\n";
  }
  void Level(double value, const std::string& name) {
    if (value > highest_) return;
    svg_ += "<path d='M" + At(kLeft, Y(value)) + "H" + Fixed(kLeft + kPlotWidth, 1) +
            "' stroke='#808080' stroke-dasharray='4'/>\n" + Text(kLeft + 4, Y(value) + 10, name);
  }
  const std::string& svg() const { return svg_; }

  static std::string Text(double x, double y, std::string text) {
    return "<text x='" + Fixed(x, 1) + "' y='" + Fixed(y, 1) + "'>" + Escaped(text) + "</text>\n";
  }

 private:
  double Y(double value) const { return top_ + kPanelHeight * (1 - std::clamp(value / highest_, 0.0, 1.0)); }
  static std::string At(double x, double y) { return Fixed(x, 1) + "," + Fixed(y, 1); }

  double top_;
  double highest_;
  std::string svg_;
};

double Highest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

void Stalls(const Timeline& timeline, Panel* panel) {
  const std::vector<TimelineSpan>& spans = timeline.spans();
  const auto count = static_cast<double>(spans.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    const auto at = static_cast<double>(i);
    for (const auto& [seconds, colour] :
         {std::pair(spans[i].delayed_seconds, kDelayedColour), std::pair(spans[i].stopped_seconds, kStoppedColour)})
      if (seconds > 0) panel->Band(at / count, (at + 1) / count, seconds / timeline.span_seconds(), colour);
  }
}

std::string Logged(const DatabaseHistory& h, double top) {
  const Timeline& timeline = h.timeline;
  std::vector<double> written, l0_files;
  for (const TimelineSpan& span : timeline.spans()) {
    written.push_back(span.written_bytes / timeline.span_seconds() / 1e6);
    const double before = l0_files.empty() ? 0 : l0_files.back();
    l0_files.push_back(span.most_l0_files < 0 ? before : span.most_l0_files);
  }
  Panel writes(top, "written, MB/s (orange: writes may be delayed, red: stopped)", Highest(written));
  Stalls(timeline, &writes);
  writes.Line(written, kLogColour);
  Panel l0(top + kPanelPitch, "files in L0, the most of any family", Highest(l0_files));
  Stalls(timeline, &l0);
  l0.Line(l0_files, kLogColour);
  if (const FamilyHistory* const family = h.Busiest()) {
    const LsmBrakes brakes = GeometryAsSet(family->options).brakes;
    l0.Level(brakes.l0_slowdown, "level0_slowdown_writes_trigger");
    l0.Level(brakes.l0_stop, "level0_stop_writes_trigger");
  }
  return writes.svg() + l0.svg();
}

std::string Simulated(const WhatIf& w, double top) {
  if (!w.why_not.empty()) return Panel::Text(kLeft, top, "not simulated, because " + w.why_not);
  Panel panel(top,
              "simulated files in L0 of [" + w.family + "]: RocksDB alone (brown), stalled " +
                  InWords(w.alone.stalled_seconds) + "; with weir (green), stalled " +
                  InWords(w.with_weir.stalled_seconds),
              std::max(Highest(w.alone.l0_files), Highest(w.with_weir.l0_files)));
  panel.Line(w.alone.l0_files, kAloneColour);
  panel.Line(w.with_weir.l0_files, kWeirColour);
  return panel.svg();
}

}  // namespace

std::string StallPlot(const std::vector<DatabaseReport>& reports) {
  std::string body;
  double top = 0;
  for (const DatabaseReport& report : reports) {
    const DatabaseHistory& h = report.history;
    body += Panel::Text(kLeft, top + 18,
                        h.path + (h.lines == 0 ? ": no LOG"
                                               : ", " + FormatLogTime(h.begin) + " to " + FormatLogTime(h.end) +
                                                     ": stalled " + InWords(h.stalled_seconds())));
    top += 2 * kHeadHeight;
    if (h.lines == 0) continue;
    body += Logged(h, top) + Simulated(report.what_if, top + 2 * kPanelPitch);
    top += 3 * kPanelPitch;
  }
  return "<svg xmlns='http://www.w3.org/2000/svg' width='" + Fixed(kWidth, 0) + "' height='" + Fixed(top, 0) +
         "' font-family='sans-serif' font-size='11'>\n<rect width='100%' height='100%' fill='white'/>\n" + body +
         "</svg>\n";
}

}  // namespace weir
