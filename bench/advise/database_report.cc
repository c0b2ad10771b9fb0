#include "bench/advise/database_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "config/text/in_words.h"
#include "config/text/json_writer.h"
#include "config/text/readable.h"

namespace weir {
namespace {

constexpr size_t kShownEpisodes = 5;

std::string Bytes(double bytes) { return ReadableBytes(RoundedCount(bytes)); }

// A line with a word at its beginning; the words stand above each other.
std::string Entry(std::string word, const std::string& text) {
  word.resize(std::max<size_t>(word.size() + 1, 11), ' ');
  return "  " + word + text + "\n";
}

std::string Of(double part, double all) { return all > 0 ? " (" + Percent(part / all) + ")" : ""; }

// "measured", "conditions" or "both": how the stalled time is known.
std::string_view SourceOf(const DatabaseHistory& h) {
  constexpr double kLeastShare = 0.01;
  if (h.covered_seconds < kLeastShare * h.logged_seconds) return "conditions";
  return h.uncovered_stalled > 0 ? "both" : "measured";
}

std::string HowKnown(const DatabaseHistory& h) {
  const std::string_view source = SourceOf(h);
  if (source == "measured") return "as RocksDB itself measured it";
  const std::string conditions = "RocksDB's conditions for delaying or stopping writes held";
  if (source == "conditions") return "at most: " + conditions + " for so long, and no statistics measured it";
  return InWords(h.measured_seconds) + " of it in " + InWords(h.covered_seconds) +
         " of statistics as RocksDB itself measured it; in the other time " + conditions + " for " +
         InWords(h.uncovered_stalled);
}

std::string Head(const DatabaseHistory& h) {
  std::string text = AsText(h.path) + ":";
  if (!h.version.empty()) text += " RocksDB " + AsText(h.version) + ",";
  if (h.lines == 0) return text + " no LOG\n";
  return text + " " + FormatLogTime(h.begin) + " to " + FormatLogTime(h.end) + ", " + InWords(h.logged_seconds) +
         " logged (" + Bytes(static_cast<double>(h.log_bytes)) + " of LOG)\n";
}

std::string Limits(const DatabaseHistory& h) {
  std::string text;
  for (const FamilyHistory& family : h.families) {
    for (size_t i = 0; i < kStallLimits; ++i) {
      for (const bool stops : {false, true}) {
        const uint64_t count = CountOf(family, static_cast<StallLimit>(i), stops);
        if (count == 0) continue;
        text +=
            Entry(text.empty() ? "limits" : "",
                  "[" + AsText(family.name) + "] " + std::string(NameOf(static_cast<StallLimit>(i))) + ": " +
                      (stops ? "stopped " : "delayed ") + std::to_string(count) + (count == 1 ? " time" : " times") +
                      ", for up to " + InWords(family.stalls[stops ? 1 : 0][i].seconds));
      }
    }
  }
  if (h.buffer_manager_stops > 0)
    text += Entry(text.empty() ? "limits" : "",
                  "WriteBufferManager with allow_stall: stopped " + std::to_string(h.buffer_manager_stops) + " times");
  return text;
}

std::string Longest(const DatabaseHistory& h) {
  std::vector<StallEpisode> episodes = h.episodes;
  std::sort(episodes.begin(), episodes.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  if (episodes.size() > kShownEpisodes) episodes.resize(kShownEpisodes);
  std::string text;
  for (const StallEpisode& e : episodes)
    text += Entry(text.empty() ? "longest" : "",
                  FormatLogTime(e.begin) + ": up to " + InWords(e.seconds) + ", [" + AsText(h.families[e.family].name) +
                      "] " + std::string(NameOf(e.limit)) + (e.stopped ? ", stopped" : ", delayed"));
  return text;
}

std::string Background(const DatabaseHistory& h) {
  const FamilyHistory* const family = h.Busiest();
  if (family == nullptr || family->flushed_bytes <= 0) return "";
  const BackgroundSpeed speed = SpeedOf(h, *family);
  std::string text = "[" + AsText(family->name) + "] " + Bytes(family->flushed_bytes) + " flushed";
  if (h.logged_seconds > 0) text += ", " + Bytes(family->flushed_bytes / h.logged_seconds) + "/s";
  if (speed.bytes_per_second > 0)
    text += "; flushes and compactions write " + Bytes(speed.bytes_per_second) + "/s, busy " +
            Percent(speed.busy_share) + " of the time, " + Fixed(speed.written_per_byte, 1) +
            " bytes for each byte flushed: they sustain " + Bytes(speed.SustainedBytesPerSecond()) + "/s";
  return Entry("background", text);
}

std::string Change(const OptionAdvice& a) {
  const std::string option = (a.family.empty() ? "" : "[" + AsText(a.family) + "] ") + a.option;
  return a.from == a.to ? "leave " + option + " at " + a.from : option + " from " + a.from + " to " + a.to;
}

std::string Change(double percent) { return (percent < 0 ? "−" : "+") + Fixed(std::abs(percent), 0) + " %"; }

// The simulated run without weir and the LOG differ, so there are two figures to compare with.
std::string BulkChange(const WhatIf& w) {
  if (w.alone.bulk_bytes <= 0) return "";
  const auto percent = [&](double bytes) { return 100 * (w.with_weir.bulk_bytes / bytes - 1); };
  const std::string low = Change(std::min(percent(w.alone.bulk_bytes), percent(w.logged_bytes)));
  const std::string high = Change(std::max(percent(w.alone.bulk_bytes), percent(w.logged_bytes)));
  return ", bulk " + (low == high ? low : low + " to " + high);
}

std::string Simulated(const WhatIf& w) {
  if (!w.why_not.empty()) return Entry("simulated", "not, because " + w.why_not);
  const std::string log = "the LOG shows up to " + InWords(w.logged_stalled_seconds) + " and " + Bytes(w.logged_bytes) +
                          ", the simulation " + InWords(w.alone.stalled_seconds) + " and " + Bytes(w.alone.bulk_bytes);
  if (!w.Fits())
    return Entry("simulated", "It promises nothing, because it does not fit: " + log +
                                  ", which is more than a factor of " + Fixed(WhatIf::kMostStalledFactor, 0) +
                                  " in time or of " + Fixed(WhatIf::kMostBytesFactor, 1) + " in bytes.");
  return Entry("simulated", InWords(w.alone.stalled_seconds) + " stalled of " + InWords(w.seconds) +
                                " with RocksDB alone; with weir " + InWords(w.with_weir.stalled_seconds) +
                                BulkChange(w)) +
         Entry("", "It fits: " + log + ".");
}

void WriteAdvice(const std::vector<OptionAdvice>& all, JsonWriter* json) {
  json->Open('[');
  for (const OptionAdvice& a : all) {
    json->Open('{');
    json->Member("family").String(AsText(a.family));
    json->Member("option").String(a.option);
    json->Member("from").String(a.from);
    json->Member("to").String(a.to);
    if (!a.why.empty()) json->Member("why").String(AsText(a.why));
    json->Close('}');
  }
  json->Close(']');
}

void WriteFamily(const DatabaseHistory& h, const FamilyHistory& f, JsonWriter* json) {
  const BackgroundSpeed speed = SpeedOf(h, f);
  json->Open('{');
  json->Member("name").String(AsText(f.name));
  json->Member("flushed_bytes").Number(f.flushed_bytes);
  json->Member("compacted_bytes").Number(f.compacted_bytes);
  json->Member("background_bytes_per_second").Number(speed.bytes_per_second, 6);
  json->Member("background_busy_share").Number(speed.busy_share, 4);
  json->Member("most_l0_files").Number(f.most_l0_files);
  json->Member("stalls").Open('[');
  for (size_t i = 0; i < kStallLimits; ++i) {
    for (const bool stops : {false, true}) {
      const auto limit = static_cast<StallLimit>(i);
      if (CountOf(f, limit, stops) == 0) continue;
      json->Open('{');
      json->Member("limit").String(NameOf(limit));
      json->Member("kind").String(stops ? "stopped" : "delayed");
      json->Member("count").Number(CountOf(f, limit, stops));
      json->Member("at_most_seconds").Number(f.stalls[stops ? 1 : 0][i].seconds, 9);
      json->Close('}');
    }
  }
  json->Close(']').Close('}');
}

void WriteRun(const WhatIf::Run& run, JsonWriter* json) {
  json->Open('{');
  json->Member("stalled_seconds").Number(run.stalled_seconds, 6);
  json->Member("bulk_bytes").Number(run.bulk_bytes, 6);
  json->Close('}');
}

void WriteWhatIf(const WhatIf& w, JsonWriter* json) {
  json->Open('{');
  if (!w.why_not.empty()) {
    json->Member("why_not").String(w.why_not);
  } else {
    json->Member("family").String(AsText(w.family));
    json->Member("from").String(FormatLogTime(w.begin));
    json->Member("seconds").Number(w.seconds);
    json->Member("logged_stalled_seconds").Number(w.logged_stalled_seconds, 6);
    json->Member("logged_bytes").Number(w.logged_bytes, 6);
    json->Member("background_bytes_per_second").Number(w.background_bytes_per_second, 6);
    WriteRun(w.alone, &json->Member("alone"));
    WriteRun(w.with_weir, &json->Member("weir"));
    json->Member("stalled_factor").Number(w.StalledFactor(), 4);
    json->Member("bytes_factor").Number(w.BytesFactor(), 4);
    json->Member("fits").Bool(w.Fits());
  }
  json->Close('}');
}

void WriteDatabase(const DatabaseReport& report, JsonWriter* json) {
  const DatabaseHistory& h = report.history;
  json->Open('{');
  json->Member("path").String(AsText(h.path));
  json->Member("rocksdb").String(AsText(h.version));
  json->Member("log_bytes").Number(h.log_bytes);
  json->Member("from").String(h.lines > 0 ? FormatLogTime(h.begin) : "");
  json->Member("to").String(h.lines > 0 ? FormatLogTime(h.end) : "");
  json->Member("logged_seconds").Number(h.logged_seconds, 9);
  json->Member("stalled_seconds").Number(h.stalled_seconds(), 9);
  json->Member("source").String(SourceOf(h));
  json->Member("measured_seconds").Number(h.measured_seconds, 9);
  json->Member("covered_seconds").Number(h.covered_seconds, 9);
  json->Member("delayed_at_most_seconds").Number(h.delayed_seconds, 9);
  json->Member("stopped_at_most_seconds").Number(h.stopped_seconds, 9);
  json->Member("user_bytes").Number(h.user_bytes, 9);
  json->Member("buffer_manager_stops").Number(h.buffer_manager_stops);
  json->Member("families").Open('[');
  for (const FamilyHistory& family : h.families) WriteFamily(h, family, json);
  json->Close(']');
  json->Member("longest").Open('[');
  for (const StallEpisode& e : h.episodes) {
    json->Open('{');
    json->Member("from").String(FormatLogTime(e.begin));
    json->Member("to").String(FormatLogTime(e.end));
    json->Member("at_most_seconds").Number(e.seconds, 9);
    json->Member("family").String(AsText(h.families[e.family].name));
    json->Member("limit").String(NameOf(e.limit));
    json->Member("kind").String(e.stopped ? "stopped" : "delayed");
    json->Close('}');
  }
  json->Close(']');
  WriteAdvice(report.advice, &json->Member("advice"));
  WriteAdvice(report.with_weir, &json->Member("with_weir"));
  WriteWhatIf(report.what_if, &json->Member("simulated"));
  json->Member("notes").Open('[');
  for (const std::string& note : h.notes) json->String(AsText(note));
  json->Close(']').Close('}');
}

}  // namespace

DatabaseReport ReportOn(DatabaseHistory history) {
  DatabaseReport report{.history = std::move(history)};
  const FamilyHistory* const busiest = report.history.Busiest();
  if (report.history.lines > 0 && busiest != nullptr && !busiest->options_known)
    report.history.notes.push_back("the options of [" + busiest->name +
                                   "] are not known, and RocksDB's defaults are assumed: give its OPTIONS file, too");
  if (report.history.lines > 0 && report.history.timeline.spans().empty() && report.history.statistics == 0)
    report.history.notes.push_back(
        "the LOG has no stall, flush, compaction or statistics: info_log_level may hide them");
  report.advice = AdviseOptions(report.history);
  if (busiest != nullptr) report.with_weir = OptionsWithWeir(*busiest);
  report.what_if = Replay(report.history);
  return report;
}

std::string ReportText(const DatabaseReport& report) {
  const DatabaseHistory& h = report.history;
  std::string text = Head(h);
  if (h.lines > 0) {
    const double all = h.logged_seconds;
    text += Entry("stalled", h.stalled_seconds() > 0 ? InWords(h.stalled_seconds()) + " of " + InWords(all) +
                                                           Of(h.stalled_seconds(), all) + ", " + HowKnown(h)
                                                     : "not at all");
    text += Limits(h) + Longest(h) + Background(h);
  }
  for (size_t i = 0; i < report.advice.size(); ++i)
    text += Entry(i == 0 ? "set" : "", Change(report.advice[i]) + ". " + AsText(report.advice[i].why));
  if (h.lines == 0 || !report.advice.empty())
    for (size_t i = 0; i < report.with_weir.size(); ++i)
      text += Entry(i == 0 ? "with weir" : "",
                    Change(report.with_weir[i]) + (i == 0 ? "; it then makes writes wait before RocksDB has to" : ""));
  if (h.stalled_seconds() > 0) text += Simulated(report.what_if);
  for (const std::string& note : h.notes) text += Entry("note", AsText(note));
  return text;
}

std::string ReportJson(const std::vector<DatabaseReport>& reports) {
  JsonWriter json;
  json.Open('{');
  json.Member("databases").Open('[');
  for (const DatabaseReport& report : reports) WriteDatabase(report, &json);
  json.Close(']').Close('}');
  return std::move(json).Text();
}

}  // namespace weir
