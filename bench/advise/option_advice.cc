#include "bench/advise/option_advice.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "bench/advise/what_if.h"
#include "config/text/in_words.h"
#include "config/text/readable.h"

namespace weir {
namespace {

constexpr size_t kMostAdvisedFamilies = 3;
constexpr int kEnoughJobs = 4;
constexpr int kEnoughBuffers = 4;
constexpr int kEnoughSubcompactions = 4;
constexpr uint64_t kMostBufferBytes = 256 << 20;
constexpr uint64_t kMiB = 1 << 20;

// The names of the counts in kStallCounters, by limit: delays, then stops.
constexpr std::string_view kCounterNames[kStallLimits][2] = {
    {"memtable_slowdown", "memtable_compaction"},
    {"level0_slowdown", "level0_numfiles"},
    {"slowdown_for_pending_compaction_bytes", "stop_for_pending_compaction_bytes"}};

// "67108864 (64 MiB)"
std::string Size(uint64_t bytes) {
  constexpr uint64_t kGiB = 1 << 30;
  const std::string number = std::to_string(bytes);
  if (bytes >= kGiB && bytes % kGiB == 0) return number + " (" + std::to_string(bytes / kGiB) + " GiB)";
  return bytes >= kMiB ? number + " (" + std::to_string(bytes / kMiB) + " MiB)" : number;
}

std::string Rate(double bytes_per_second) { return ReadableBytes(RoundedCount(bytes_per_second)) + "/s"; }

uint64_t Times(uint64_t number, uint64_t factor) {
  return number > std::numeric_limits<uint64_t>::max() / factor ? std::numeric_limits<uint64_t>::max()
                                                                : number * factor;
}

// "Writes were delayed 1234 times and stopped 12 times, for up to 5 h 20 min, "
std::string HowOften(const FamilyHistory& family, StallLimit limit) {
  const auto index = static_cast<size_t>(limit);
  const uint64_t delays = CountOf(family, limit, false), stops = CountOf(family, limit, true);
  const double seconds = family.stalls[0][index].seconds + family.stalls[1][index].seconds;
  const auto times = [](const char* what, uint64_t count) {
    return what + std::string(" ") + std::to_string(count) + (count == 1 ? " time" : " times");
  };
  std::string text = "Writes were ";
  if (delays > 0) text += times("delayed", delays);
  if (stops > 0) text += (delays > 0 ? " and " : "") + times("stopped", stops);
  return text + ", for up to " + InWords(seconds) + ", because ";
}

// Collects the advice about one database. An option is named once.
class Adviser {
 public:
  explicit Adviser(const DatabaseHistory& history) : history_(history) {}

  std::vector<OptionAdvice> Go() {
    std::vector<const FamilyHistory*> stalled;
    for (const FamilyHistory& family : history_.families)
      if (Stalled(family)) stalled.push_back(&family);
    std::stable_sort(stalled.begin(), stalled.end(),
                     [](const auto* a, const auto* b) { return a->stalled_seconds() > b->stalled_seconds(); });
    if (stalled.size() > kMostAdvisedFamilies) stalled.resize(kMostAdvisedFamilies);
    for (const FamilyHistory* family : stalled) {
      if (Has(*family, StallLimit::kMemtables)) Memtables(*family);
      if (Has(*family, StallLimit::kL0Files)) L0Files(*family);
      if (Has(*family, StallLimit::kPendingBytes)) PendingBytes(*family);
      cause_.clear();
      DelayedRate(*family);
    }
    if (!stalled.empty() && history_.statistics == 0 && history_.options.stats_dump_period_sec == 0)
      Add({.option = "stats_dump_period_sec",
           .from = "0",
           .to = "600",
           .why = "RocksDB then logs how long writes really waited; the conditions only say how long they may have."});
    return std::move(all_);
  }

 private:
  static bool Has(const FamilyHistory& family, StallLimit limit) {
    return CountOf(family, limit, false) + CountOf(family, limit, true) > 0;
  }
  static bool Stalled(const FamilyHistory& family) {
    return Has(family, StallLimit::kMemtables) || Has(family, StallLimit::kL0Files) ||
           Has(family, StallLimit::kPendingBytes);
  }

  // Adds the advice, unless the option was named before. The first one about a limit begins with cause_.
  void Add(OptionAdvice advice) {
    const bool known = std::any_of(all_.begin(), all_.end(), [&](const OptionAdvice& other) {
      return other.option == advice.option && other.family == advice.family;
    });
    if (known) return;
    advice.why = std::exchange(cause_, "") + advice.why;
    all_.push_back(std::move(advice));
  }

  void MoreJobs(const std::string& why) {
    if (history_.options.max_background_jobs >= kEnoughJobs) return;
    Add({.option = "max_background_jobs",
         .from = std::to_string(history_.options.max_background_jobs),
         .to = std::to_string(kEnoughJobs),
         .why = why});
  }

  void Memtables(const FamilyHistory& family) {
    cause_ = HowOften(family, StallLimit::kMemtables) + "all memtables were full before one was flushed. ";
    const int buffers = family.options.max_write_buffer_number;
    Add({.family = family.name,
         .option = "max_write_buffer_number",
         .from = std::to_string(buffers),
         .to = std::to_string(std::max<int64_t>(kEnoughBuffers, int64_t{buffers} + 2)),
         .why =
             "Each more takes " + Size(family.options.write_buffer_size) + " of memory, and evens out bursts only."});
    MoreJobs("A quarter of the jobs flushes, and at least one; compactions take the others.");
  }

  void L0Files(const FamilyHistory& family) {
    cause_ = HowOften(family, StallLimit::kL0Files) + "L0 was compacted more slowly than it filled. ";
    const LsmGeometry g = GeometryAsSet(family.options);
    const uint64_t buffers = static_cast<uint64_t>(g.buffers_per_flush) * static_cast<uint64_t>(g.l0_trigger);
    const uint64_t at_trigger = Times(g.write_buffer_bytes, buffers);
    const uint64_t matching = std::min(g.l1_bytes / buffers / kMiB * kMiB, kMostBufferBytes);
    if (!g.l1_size_varies && g.l1_bytes / 2 >= at_trigger && matching > g.write_buffer_bytes)
      Add({.family = family.name,
           .option = "write_buffer_size",
           .from = Size(g.write_buffer_bytes),
           .to = Size(matching),
           .why = "A compaction of L0 rewrites all of L1, up to " + Size(g.l1_bytes) + ", for " + Size(at_trigger) +
                  " from L0, so most of its work is for L1: the two should be alike."});
    if (history_.options.max_subcompactions < 2 && !g.counts_runs)
      Add({.option = "max_subcompactions",
           .from = std::to_string(history_.options.max_subcompactions),
           .to = std::to_string(kEnoughSubcompactions),
           .why = "One thread compacts L0, and no other may; this lets it use more cores."});
    MoreJobs("More jobs compact the levels below meanwhile.");
    Add({.family = family.name,
         .option = "level0_slowdown_writes_trigger",
         .from = std::to_string(g.brakes.l0_slowdown),
         .to = std::to_string(g.brakes.l0_slowdown),
         .why = "To raise it does not help for long: " + Postponed(family, g)});
  }

  // Says how long L0 would take to fill up to a trigger twice as high.
  std::string Postponed(const FamilyHistory& family, const LsmGeometry& g) const {
    const double file = family.flushed_bytes / std::max<double>(1, static_cast<double>(family.flushes));
    double fastest = 0;
    for (const TimelineSpan& span : family.timeline.spans())
      fastest = std::max(fastest, span.written_bytes / family.timeline.span_seconds());
    const double excess = fastest - SpeedOf(history_, family).SustainedBytesPerSecond();
    if (file <= 0 || excess <= 0) return "the same stall comes a little later, with more files for each read.";
    return "at the fastest writes in the LOG, L0 has " + std::to_string(g.brakes.l0_slowdown) + " more files after " +
           InWords(g.brakes.l0_slowdown * file / excess) + ", and each read looks into all of them.";
  }

  void PendingBytes(const FamilyHistory& family) {
    cause_ = HowOften(family, StallLimit::kPendingBytes) + "more bytes waited for compaction than the limit. ";
    const auto raise = [&](const char* option, uint64_t limit) {
      if (limit > 0)
        Add({.family = family.name,
             .option = option,
             .from = Size(limit),
             .to = Size(Times(limit, 4)),
             .why = "These bytes grow with the tree; they take room on the disk, and do no other harm."});
    };
    raise("soft_pending_compaction_bytes_limit", family.options.soft_pending_compaction_bytes_limit);
    raise("hard_pending_compaction_bytes_limit", family.options.hard_pending_compaction_bytes_limit);
    MoreJobs("More jobs compact several levels at once.");
  }

  void DelayedRate(const FamilyHistory& family) {
    const BackgroundSpeed speed = SpeedOf(history_, family);
    const double now = DelayedRateOf(history_.options);
    const uint64_t set = history_.options.delayed_write_rate;
    const double sustained = speed.SustainedBytesPerSecond();
    if (sustained < 1.25 * now || history_.delayed_seconds <= history_.stopped_seconds) return;
    Add({.option = "delayed_write_rate",
         .from = set > 0 ? Size(set) : "0 (16 MiB/s)",
         .to = Size(static_cast<uint64_t>(sustained) / kMiB * kMiB),
         .why = "Delayed writes go at most at this rate, and the background sustained " + Rate(sustained) + "."});
  }

  const DatabaseHistory& history_;
  std::vector<OptionAdvice> all_;
  std::string cause_;  // why the next advice is given
};

}  // namespace

std::string_view NameOf(StallLimit limit) {
  constexpr std::string_view kNames[kStallLimits] = {"memtables", "L0 files", "pending compaction bytes"};
  return kNames[static_cast<size_t>(limit)];
}

uint64_t CountOf(const FamilyHistory& family, StallLimit limit, bool stops) {
  const auto index = static_cast<size_t>(limit);
  for (const auto& limits : family.stalls)
    for (const StallTotal& total : limits)
      if (total.lines > 0) return family.stalls[stops ? 1 : 0][index].lines;
  const auto found = family.stall_counts.find(std::string(kCounterNames[index][stops ? 1 : 0]));
  return found == family.stall_counts.end() ? 0 : found->second;
}

std::vector<OptionAdvice> AdviseOptions(const DatabaseHistory& history) { return Adviser(history).Go(); }

std::vector<OptionAdvice> OptionsWithWeir(const FamilyHistory& family) {
  const LsmGeometry given = GeometryAsSet(family.options);
  if (family.options.compaction_style == CompactionStyle::kFifo) return {};
  const LsmGeometry prepared = PreparedGeometry(given);
  const LsmBrakes moved = BrakesOf(prepared);
  std::vector<OptionAdvice> changes;
  const auto add = [&](const char* option, auto from, auto to) {
    if (from != to)
      changes.push_back(
          {.family = family.name, .option = option, .from = std::to_string(from), .to = std::to_string(to)});
  };
  add("min_write_buffer_number_to_merge", given.buffers_per_flush, prepared.buffers_per_flush);
  add("max_write_buffer_number", given.brakes.max_write_buffers, moved.max_write_buffers);
  add("level0_slowdown_writes_trigger", given.brakes.l0_slowdown, moved.l0_slowdown);
  add("level0_stop_writes_trigger", given.brakes.l0_stop, moved.l0_stop);
  add("soft_pending_compaction_bytes_limit", given.brakes.soft_pending_bytes, moved.soft_pending_bytes);
  add("hard_pending_compaction_bytes_limit", given.brakes.hard_pending_bytes, moved.hard_pending_bytes);
  return changes;
}

}  // namespace weir
