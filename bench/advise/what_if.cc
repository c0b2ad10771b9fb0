#include "bench/advise/what_if.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "bench/simulator/simulation.h"

namespace weir {
namespace {

// Bytes are scaled so that the simulated writers write about so fast, and no more than so much in all. The simulator
// moves 16 KB at a time.
constexpr double kSimulatedBytesPerSecond = 6e6;
constexpr double kMostSimulatedBytes = 40e9;

constexpr double kPlottedPoints = 500;
// While conditions hold nearly all the time, the LOG does not show how much more the writers would have written.
constexpr double kMostStalledShare = 0.75;
// The simulated background is at most so many times as fast or as slow as the LOG shows.
constexpr double kMostFitted = 2;
constexpr double kFittedWell = 1.05;
constexpr int kMostAttempts = 4;
// Rates are means over so long.
constexpr double kMeanSeconds = 30;
constexpr double kSaturatedShare = 0.5;
// The model of interactive clients stays small beside any bulk load.
constexpr double kFewInteractive = 10;
// A memtable takes writes so much faster than the fastest second of the LOG shows on average.
constexpr double kInsertsFaster = 8;
constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max() / 16;

double Sum(const std::vector<double>& values, size_t from) {
  return from < values.size() ? std::accumulate(values.begin() + static_cast<ptrdiff_t>(from), values.end(), 0.0) : 0;
}

// Returns how many times the larger number is the smaller one.
double Factor(double a, double b) {
  if (a == b) return 1;
  const double low = std::min(a, b);
  return low > 0 ? std::max(a, b) / low : std::numeric_limits<double>::infinity();
}

// The part of a history that is simulated, from the span `first` to the one before `last`.
struct Window {
  size_t first = 0;
  size_t last = 0;
  double stalled_seconds = 0;
};

double StalledIn(const TimelineSpan& span) { return span.delayed_seconds + span.stopped_seconds; }

// Returns all of the time, or if that is too long, the part with the most stalled time.
Window MostStalled(const Timeline& timeline, double most_seconds) {
  const std::vector<TimelineSpan>& spans = timeline.spans();
  const size_t length = std::min(spans.size(), static_cast<size_t>(most_seconds / timeline.span_seconds()));
  Window best, now;
  for (size_t i = 0; i < spans.size(); ++i) {
    now.stalled_seconds += StalledIn(spans[i]);
    now.last = i + 1;
    if (now.last - now.first > length) {
      now.stalled_seconds -= StalledIn(spans[now.first]);
      ++now.first;
    }
    if (now.last - now.first == length && (best.last == 0 || now.stalled_seconds > best.stalled_seconds)) best = now;
  }
  return best;
}

// Returns the family's amounts over the spans of the whole history's timeline. Both timelines begin at the same moment,
// and the spans of `all` are as long as those of the family, or longer by a power of two.
std::vector<TimelineSpan> OnTheSpansOf(const Timeline& all, const Timeline& family) {
  std::vector<TimelineSpan> spans(all.spans().size());
  for (size_t i = 0; i < family.spans().size(); ++i) {
    const auto at = static_cast<size_t>(static_cast<double>(i) * family.span_seconds() / all.span_seconds());
    if (at < spans.size()) spans[at].Add(family.spans()[i]);
  }
  return spans;
}

// Returns the number of spans that are at least so long together.
size_t SpansIn(double seconds, const Timeline& timeline) {
  return static_cast<size_t>(std::ceil(seconds / timeline.span_seconds()));
}

// Returns the bytes a second that flushes and compactions wrote in those times in which writes were stalled for the
// most part: the background had as much work as it could do. Returns 0 if there were none.
double SaturatedBytesPerSecond(const DatabaseHistory& history, const FamilyHistory& family) {
  const Timeline& all = history.timeline;
  const std::vector<TimelineSpan> spans = OnTheSpansOf(all, family.timeline);
  const size_t length = SpansIn(kMeanSeconds, all);
  double bytes = 0, seconds = 0;
  for (size_t first = 0; first + length <= spans.size(); first += length) {
    double stalled = 0, written = 0;
    for (size_t i = first; i < first + length; ++i) {
      stalled += StalledIn(all.spans()[i]);
      written += spans[i].written_bytes + spans[i].compacted_bytes;
    }
    const double time = static_cast<double>(length) * all.span_seconds();
    if (stalled < kSaturatedShare * time) continue;
    bytes += written;
    seconds += time;
  }
  return seconds > 0 ? bytes / seconds : 0;
}

// Returns what the writers offered: what they wrote, in the time in which writes were not stalled. The simulated stalls
// come at other moments than those of the LOG, so the offers are means over a longer time.
std::vector<Offer> OffersOf(const std::vector<TimelineSpan>& family, const Timeline& all, const Window& window,
                            double measured_share, double scale) {
  const size_t length = SpansIn(kMeanSeconds, all);
  std::vector<Offer> offers;
  for (size_t first = window.first; first < window.last; first += length) {
    const size_t last = std::min(first + length, window.last);
    double bytes = 0, stalled = 0;
    for (size_t i = first; i < last; ++i) {
      bytes += scale * family[i].written_bytes;
      stalled += measured_share * StalledIn(all.spans()[i]);
    }
    const double seconds = static_cast<double>(last - first) * all.span_seconds();
    const double writing = std::max(seconds - stalled, (1 - kMostStalledShare) * seconds);
    offers.push_back(
        {.from_s = static_cast<double>(first - window.first) * all.span_seconds(), .multiple = bytes / writing});
  }
  return offers;
}

uint64_t Scaled(uint64_t bytes, double scale) {
  if (bytes == 0 || bytes >= kNever) return kNever;
  return static_cast<uint64_t>(std::min(scale * static_cast<double>(bytes), static_cast<double>(kNever)));
}

// Returns the simulated engine: that of the family, with all bytes times `scale`.
Geometry EngineOf(const FamilyHistory& family, const OptionsText& options, const BackgroundSpeed& speed, double peak,
                  double scale) {
  Geometry engine{.name = "as logged", .meaning = "the sizes and the speed that the LOG shows"};
  LsmPlantOptions& lsm = engine.lsm;
  LsmGeometry& g = lsm.geometry;
  g = GeometryAsSet(family.options);
  const double buffer = static_cast<double>(g.write_buffer_bytes);
  const double memtables = static_cast<double>(std::max(family.flushes, family.flushed_memtables));
  lsm.memory_per_user_byte = std::max(0.1, buffer * memtables / std::max(1.0, family.flushed_bytes));

  // With dynamic level sizes, the base level is the first that has files.
  size_t base = 1;
  while (base < family.first_levels.size() && family.first_levels[base] <= 0) ++base;
  const double l1 = Sum(family.first_levels, base) - Sum(family.first_levels, base + 1);
  lsm.l1_at_start_bytes = scale * l1;
  lsm.lower_bytes.clear();
  for (size_t level = base + 1; level < family.first_levels.size(); ++level)
    lsm.lower_bytes.push_back(scale * family.first_levels[level]);
  if (g.l1_size_varies) {
    const double least = buffer * g.l0_trigger;
    g.l1_bytes = static_cast<uint64_t>(std::clamp(l1, least, std::max(least, static_cast<double>(g.l1_bytes))));
    g.l1_size_varies = false;
  }
  // The share of what is flushed by which the tree grows tells how much of it is new data.
  const double grown = Sum(family.last_levels, 0) - Sum(family.first_levels, 0);
  const double tree = std::max({Sum(family.first_levels, 1), Sum(family.last_levels, 1), 1e6});
  const double share = std::clamp(grown / std::max(1.0, family.flushed_bytes), 0.0, 0.95);
  lsm.distinct_bytes = scale * tree / (1 - share);

  constexpr uint64_t kLeastBuffer = 16 << 10;
  g.write_buffer_bytes = std::max(kLeastBuffer, Scaled(g.write_buffer_bytes, scale));
  g.l1_bytes = Scaled(g.l1_bytes, scale);
  g.brakes.soft_pending_bytes = Scaled(g.brakes.soft_pending_bytes, scale);
  g.brakes.hard_pending_bytes = Scaled(g.brakes.hard_pending_bytes, scale);
  g.background_bytes_per_second = scale * speed.bytes_per_second;
  lsm.highest_delayed_bytes_per_second = scale * DelayedRateOf(options);
  lsm.lowest_delayed_bytes_per_second *= scale;
  lsm.insert_bytes_per_second = kInsertsFaster * scale * peak;
  lsm.other_memory_bytes = 0;
  lsm.memory_target_bytes = 1e15;         // memory is not simulated
  engine.sustained_bytes_per_second = 1;  // the offers are rates
  return engine;
}

WhatIf::Run RunOnce(const Scenario& scenario, const Geometry& engine, std::string_view law, double scale) {
  const SimulationOptions options{
      .scenario = &scenario,
      .geometry = &engine,
      .law = law,
      .ticks_per_row = std::max(1, static_cast<int>(scenario.seconds * 10 / kPlottedPoints))};
  const SimulationResult result = Simulate(options);
  WhatIf::Run run{.stalled_seconds = result.figures.stalled_seconds,
                  .bulk_bytes = result.figures.bulk_bytes_per_second * scenario.seconds / scale};
  for (const TickRow& row : result.rows) run.l0_files.push_back(static_cast<double>(row.l0_files));
  return run;
}

// Returns the reason why this history cannot be simulated; an empty text if it can.
std::string WhyNot(const DatabaseHistory& history, const FamilyHistory* family, const BackgroundSpeed& speed) {
  if (history.delayed_seconds + history.stopped_seconds <= 0) return "the LOG has no line of a stall";
  if (family == nullptr || family->flushed_bytes <= 0 || speed.bytes_per_second <= 0)
    return "the LOG has no flushes and compactions (EVENT_LOG_v1), which info_log_level may hide";
  if (family->options.compaction_style != CompactionStyle::kLevel) return "the simulator knows level compaction only";
  if (family->options.disable_auto_compactions) return "compactions are disabled";
  return "";
}

}  // namespace

double WhatIf::StalledFactor() const { return Factor(alone.stalled_seconds, logged_stalled_seconds); }
double WhatIf::Misfit() const { return StalledFactor() * BytesFactor(); }
double WhatIf::BytesFactor() const { return Factor(alone.bulk_bytes, logged_bytes); }

double DelayedRateOf(const OptionsText& options) {
  constexpr double kDefault = 16 << 20;
  return options.delayed_write_rate > 0 ? static_cast<double>(options.delayed_write_rate) : kDefault;
}

BackgroundSpeed SpeedOf(const DatabaseHistory& history, const FamilyHistory& family) {
  BackgroundSpeed speed;
  const double written = family.flushed_bytes + family.compacted_bytes;
  if (family.busy_seconds > 0)
    speed.bytes_per_second = std::max(written / family.busy_seconds, SaturatedBytesPerSecond(history, family));
  if (history.logged_seconds > 0) speed.busy_share = std::min(1.0, family.busy_seconds / history.logged_seconds);
  if (family.flushed_bytes > 0) speed.written_per_byte = written / family.flushed_bytes;
  return speed;
}

WhatIf Replay(const DatabaseHistory& history, double most_seconds) {
  WhatIf what_if;
  const FamilyHistory* const family = history.Busiest();
  const BackgroundSpeed speed = family == nullptr ? BackgroundSpeed{} : SpeedOf(history, *family);
  what_if.why_not = WhyNot(history, family, speed);
  if (!what_if.why_not.empty()) return what_if;

  const Timeline& all = history.timeline;
  const Window window = MostStalled(all, most_seconds);
  const std::vector<TimelineSpan> spans = OnTheSpansOf(all, family->timeline);
  what_if.family = family->name;
  what_if.begin = all.BeginOf(window.first);
  what_if.seconds = static_cast<double>(window.last - window.first) * all.span_seconds();
  what_if.logged_stalled_seconds = window.stalled_seconds;
  double peak = 0;
  for (size_t i = window.first; i < window.last; ++i) {
    what_if.logged_bytes += spans[i].written_bytes;
    peak = std::max(peak, spans[i].written_bytes / all.span_seconds());
  }
  if (what_if.logged_bytes <= 0 || what_if.logged_stalled_seconds <= 0) {
    what_if.why_not = "the LOG has no flushes near the stalls";
    return what_if;
  }

  // The conditions say when writes could stall. The measurement says for which part of that time they did.
  const double conditions = history.delayed_seconds + history.stopped_seconds - history.uncovered_stalled;
  const double measured_share =
      history.measured_seconds > 0 && conditions > 0 ? std::min(1.0, history.measured_seconds / conditions) : 1;
  const double scale = std::min(kSimulatedBytesPerSecond * what_if.seconds, kMostSimulatedBytes) / what_if.logged_bytes;
  Scenario scenario{.name = "as logged", .meaning = "the load that the LOG shows", .seconds = what_if.seconds};
  scenario.offers = OffersOf(spans, all, window, measured_share, scale);
  scenario.interactive_per_second = kFewInteractive;
  // The model writes more or less for each byte than the real engine did, so its speed is fitted to the bytes of the
  // LOG. The stalled time is not fitted: it shows whether the model is like the engine.
  BackgroundSpeed fitted = speed;
  WhatIf best;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    what_if.background_bytes_per_second = fitted.bytes_per_second;
    what_if.alone = RunOnce(scenario, EngineOf(*family, history.options, fitted, peak, scale), "none", scale);
    if (attempt == 0 || what_if.Misfit() < best.Misfit()) best = what_if;
    const double needed = fitted.bytes_per_second * what_if.logged_bytes / std::max(1.0, what_if.alone.bulk_bytes);
    fitted.bytes_per_second =
        std::clamp(needed, speed.bytes_per_second / kMostFitted, speed.bytes_per_second * kMostFitted);
    if (Factor(fitted.bytes_per_second, what_if.background_bytes_per_second) < kFittedWell) break;
  }
  fitted.bytes_per_second = best.background_bytes_per_second;
  best.with_weir = RunOnce(scenario, EngineOf(*family, history.options, fitted, peak, scale), "weir", scale);
  return best;
}

}  // namespace weir
