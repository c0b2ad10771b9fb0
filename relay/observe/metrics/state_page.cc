#include "relay/observe/metrics/state_page.h"

#include <unistd.h>

#include <utility>
#include <vector>

#include "config/clock.h"
#include "config/text/in_words.h"
#include "config/text/parse.h"
#include "config/text/readable.h"
#include "relay/observe/metrics/exposition.h"
#include "relay/process/version.h"

namespace weir {
namespace {

constexpr size_t kLabelWidth = 13;
constexpr size_t kLineWidth = 100;

}  // namespace

StatePage::StatePage(const StateOccasion& occasion) {
  std::string ready = occasion.ready.ok() ? "ready" : "NOT ready: " + occasion.ready.message();
  if (!occasion.note.empty()) ready += ", but " + occasion.note;
  text_ = "state, " + occasion.why + ": " + ready;
  const ProcessFigures figures = ReadProcess();
  const double now = ToSeconds(WallClock::System().Now().time_since_epoch());
  Line("program", "weir " + std::string(Version()) + ", process " + std::to_string(getpid()) + ", RocksDB " +
                      RocksDbVersion() + ", up " + InWords(now - occasion.started_at) + ", " +
                      ReadableBytes(figures.resident_bytes) + " resident, " + std::to_string(figures.open_files) +
                      " of " + std::to_string(figures.most_files) + " files open");
}

void StatePage::Line(std::string_view label, std::string_view text) {
  text_.append("\n  ").append(label).append(kLabelWidth - label.size(), ' ').append(text);
}

void StatePage::AddServer(const ServerStats& s) {
  Line("connections",
       std::to_string(s.connections) + " WebSockets; " + ShortNumber(s.accepted) + " sockets accepted, " +
           ShortNumber(s.refused_limit + s.refused_address_limit) + " refused, " +
           ShortNumber(s.too_slow + s.policy_closes + s.protocol_errors + s.pings_unanswered + s.gave_way) +
           " ended; " + ShortNumber(s.http_requests) + " HTTP requests, " + ShortNumber(s.http_errors) + " bad; " +
           ReadableBytes(s.pending_bytes) + " of output wait");
}

void StatePage::AddPlugins(const std::function<void(MetricFamilies&)>& plugins) {
  MetricFamilies families;
  plugins(families);
  std::vector<std::string> lines(1);
  for (const prometheus::MetricFamily& family : std::move(families).Take()) {
    for (const prometheus::ClientMetric& metric : family.metric) {
      const double value = metric.counter.value + metric.gauge.value;
      if (value == 0 || family.type == prometheus::MetricType::Histogram) continue;
      std::string item = family.name;
      for (size_t i = 0; i < metric.label.size(); ++i) item.append(i == 0 ? "{" : ",").append(metric.label[i].value);
      item.append(metric.label.empty() ? "" : "}").append(" ").append(FormatNumber(value));
      if (!lines.back().empty() && lines.back().size() + item.size() > kLineWidth) lines.emplace_back();
      lines.back().append(lines.back().empty() ? "" : ", ").append(AsText(item));
    }
  }
  const size_t left_out = lines.size() > kMostOfPlugins ? lines.size() - kMostOfPlugins : 0;
  lines.resize(lines.size() - left_out);
  if (left_out > 0) lines.back() += ", and more: /metrics";
  for (size_t i = 0; i < lines.size(); ++i)
    if (!lines[i].empty()) Line(i == 0 ? "parts" : "", lines[i]);
}

}  // namespace weir
