#include "bench/advise/history_reader.h"

#include <algorithm>
#include <cstdlib>

#include "config/text/parse.h"

namespace weir {
namespace {

// The texts that are looked for stand in the first bytes of a line.
constexpr size_t kSearchedBytes = 256;
constexpr size_t kLongestBlock = 32 << 10;
// A job that never ends must not stay for ever.
constexpr size_t kMostJobs = 4096;
// A damaged line may tell of any size.
constexpr double kMostLevelBytes = 1e18;

constexpr std::string_view kDefaultFamily = "default";

// Returns the text between the first `before` and the last `after` behind it; nullopt if there is none.
std::optional<std::string_view> Between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t at = text.find(before);
  if (at == text.npos) return std::nullopt;
  text.remove_prefix(at + before.size());
  const size_t end = text.rfind(after);
  if (end == text.npos) return std::nullopt;
  return text.substr(0, end);
}

}  // namespace

void HistoryReader::Add(std::string_view line) {
  const std::optional<LoggedLine> timed = cutter_.Cut(line);
  if (!timed) return AddToBlock(TrimBlanks(line));
  EndBlock();
  if (history_.lines++ == 0) {
    history_.begin = history_.end = timed->at;
    measured_.SetBegin(timed->at);
    conditions_.SetBegin(timed->at);
    history_.timeline.SetBegin(timed->at);
  }
  AddTimed(*timed);
  history_.end = std::max(history_.end, timed->at);
}

void HistoryReader::AddTimed(const LoggedLine& line) {
  if (const auto event = ParseLogEvent(line)) return AddEvent(*event);
  if (const auto stall = ParseStallLine(line.text)) {
    const size_t family = FamilyIndex(stall->family);
    AddOptionsAtStall(family);
    return conditions_.Stall(family, line.at, stall->limit, stall->stops);
  }
  const std::string_view text = line.text.substr(0, kSearchedBytes);
  if (const auto job = ParseJobLine(text)) {
    Job& known = JobOf(job->job);
    known.family = FamilyIndex(job->family);
    known.has_family = true;
    return;
  }
  constexpr std::string_view kVersion = "RocksDB version: ";
  if (const size_t at = text.find(kVersion); at != text.npos) {
    history_.version = TrimBlanks(text.substr(at + kVersion.size()));
    options_of_.reset();
    sets_of_.reset();
    before_head_ = history_.end;
    gaps_seconds_ += std::max(0.0, LogSeconds(line.at - history_.end));
  } else if (text.find("Recovering from manifest file") != text.npos) {
    Reopened();
  } else if (text.find("Shutdown: canceling all background work") != text.npos) {
    conditions_.End(line.at);
  } else if (sets_of_ || text.find("Options") != text.npos) {
    AddOption(text);
  }
}

void HistoryReader::Reopened() {
  ++history_.runs;
  const LogTime closed = before_head_ == LogTime{} ? history_.end : before_head_;
  conditions_.End(closed);
  AccountFor(closed, false);
  measured_.Reopened();
  EndRunning();
  for (Reading& reading : reading_) reading.filled_since = history_.end;
}

// Forgets jobs that will not end.
void HistoryReader::EndRunning() {
  jobs_.clear();
  for (Reading& reading : reading_) reading.running = 0;
}

// Adds the conditions since the last call to the stalled time, unless it is covered by measurement.
void HistoryReader::AccountFor(LogTime until, bool covered) {
  const double seconds = conditions_.SecondsUntil(until);
  if (!covered) history_.uncovered_stalled += std::max(0.0, seconds - conditions_until_covered_);
  conditions_until_covered_ = seconds;
}

void HistoryReader::AddToBlock(std::string_view line) {
  if (line.starts_with("** ")) {
    const auto name = Between(line, "** Compaction Stats [", "] **");
    // The table of a family comes twice, by levels and by priorities.
    const bool goes_on = name && block_ == Block::kFamilyStats && history_.families[block_family_].name == *name;
    if (!goes_on) {
      EndBlock();
      if (line == "** DB Stats **") block_ = Block::kDbStats;
      if (name) {
        block_ = Block::kFamilyStats;
        block_family_ = FamilyIndex(*name);
      }
    }
  }
  if (block_ == Block::kNone || block_text_.size() + line.size() > kLongestBlock) return;
  block_text_.append(line) += '\n';
}

void HistoryReader::EndBlock() {
  if (block_ == Block::kNone) return;
  if (block_ == Block::kDbStats) {
    AccountFor(history_.end, measured_.Add(history_.end, ParseDbStatsText(block_text_)));
    constexpr std::string_view kStops = "write-buffer-manager-limit-stops: ";
    if (const size_t at = block_text_.find(kStops); at != block_text_.npos)
      history_.buffer_manager_stops = std::max<uint64_t>(
          history_.buffer_manager_stops, std::strtoull(block_text_.c_str() + at + kStops.size(), nullptr, 10));
  } else {
    Reading& reading = reading_[block_family_];
    (reading.first_table.empty() ? reading.first_table : reading.last_table) = block_text_;
  }
  block_ = Block::kNone;
  block_text_.clear();
}

void HistoryReader::AddEvent(const LogEvent& event) {
  using Kind = LogEvent::Kind;
  Job& job = JobOf(event.job);
  if (!event.family.empty() || !job.has_family) {
    job.family = FamilyIndex(event.family.empty() ? kDefaultFamily : event.family);
    job.has_family = true;
  }
  switch (event.kind) {
    case Kind::kTableCreated:
      job.bytes += static_cast<double>(event.bytes);
      return;
    case Kind::kFlushStarted:
    case Kind::kCompactionStarted: {
      job.started = true;
      job.start = event.at;
      job.memtables = event.memtables;
      Reading& reading = reading_[job.family];
      if (reading.running++ == 0) reading.busy_since = event.at;
      return;
    }
    case Kind::kFlushFinished:
    case Kind::kCompactionFinished:
      EndJob(event, job);
      jobs_.erase(event.job);
  }
}

void HistoryReader::EndJob(const LogEvent& event, const Job& job) {
  FamilyHistory& family = history_.families[job.family];
  Reading& reading = reading_[job.family];
  conditions_.JobEnded(job.family, event.at);
  if (job.started && reading.running > 0 && --reading.running == 0)
    family.busy_seconds += std::max(0.0, LogSeconds(event.at - reading.busy_since));
  const LogTime start = job.started ? job.start : event.at;
  LogTime from = start;
  TimelineSpan amounts;
  if (event.kind == LogEvent::Kind::kFlushFinished) {
    ++family.flushes;
    family.flushed_memtables += job.memtables;
    family.flushed_bytes += job.bytes;
    amounts.written_bytes = job.bytes;
    from = std::exchange(reading.filled_since, start);
  } else {
    ++family.compactions;
    family.compacted_bytes += static_cast<double>(event.bytes);
    amounts.compacted_bytes = static_cast<double>(event.bytes);
    reading.tables += event.files;
    reading.table_bytes += static_cast<double>(event.bytes);
  }
  if (!event.levels.empty()) {
    if (reading.first_files.empty()) reading.first_files = event.levels;
    reading.last_files = event.levels;
    family.most_l0_files = std::max(family.most_l0_files, event.levels[0]);
    const TimelineSpan files{.most_l0_files = static_cast<double>(event.levels[0])};
    family.timeline.Add(event.at, event.at, files);
    history_.timeline.Add(event.at, event.at, files);
  }
  const LogTime until = event.kind == LogEvent::Kind::kFlushFinished ? start : event.at;
  family.timeline.Add(from, until, amounts);
  history_.timeline.Add(from, until, amounts);
}

void HistoryReader::AddOption(std::string_view text) {
  if (const auto name = Between(text, "Options for column family [", "]")) {
    options_of_ = FamilyIndex(*name);
    history_.families[*options_of_].options = {};
    history_.families[*options_of_].options_known = true;
    return;
  }
  if (sets_of_ || text.find("SetOptions() ") != text.npos) return AddSetOption(text);
  constexpr std::string_view kOptions = " Options.";  // "7f0844dff640    Options.delayed_write_rate : 16777216"
  const size_t at = text.find(kOptions);
  if (at == text.npos) return;
  text.remove_prefix(at + kOptions.size());
  const size_t colon = text.find(':');
  if (colon == text.npos) return;
  const std::string_view name = TrimBlanks(text.substr(0, colon)), value = TrimBlanks(text.substr(colon + 1));
  if (SetDbOption(name, value, &history_.options)) {
    told_db_options_ = true;
  } else if (options_of_) {
    SetLsmOption(name, value, &history_.families[*options_of_].options);
  }
}

// SetOptions tells what it is to change, a line for each option, and then whether it did.
void HistoryReader::AddSetOption(std::string_view text) {
  if (const auto name = Between(text, "SetOptions() on column family [", "]")) {
    sets_of_ = FamilyIndex(*name);
    sets_.clear();
    return;
  }
  if (!sets_of_) return;
  if (text.find("SetOptions() ") != text.npos) {
    const bool done = text.find("SetOptions() succeeded") != text.npos;
    for (const auto& [name, value] : sets_)
      if (done) SetLsmOption(name, value, &history_.families[*sets_of_].options);
    sets_of_.reset();
    return;
  }
  const size_t place = text.find("] ");
  const size_t colon = text.rfind(": ");
  constexpr size_t kMostSets = 256;
  if (place == text.npos || colon == text.npos || colon < place + 2 || sets_.size() >= kMostSets) return;
  sets_.emplace_back(text.substr(place + 2, colon - place - 2), TrimBlanks(text.substr(colon + 2)));
}

void HistoryReader::AddOptionsAtStall(size_t index) {
  constexpr size_t kMostChanges = 64;
  const FamilyHistory& family = history_.families[index];
  auto& all = reading_[index].at_stalls;
  if (!family.options_known) return;
  if (all.empty() || (all.back().first != family.options && all.size() < kMostChanges))
    all.emplace_back(family.options, 0);
  ++all.back().second;
}

size_t HistoryReader::FamilyIndex(std::string_view name) {
  if (name.empty()) name = kDefaultFamily;
  auto found = index_.find(name);
  if (found == index_.end() && index_.size() >= kMostFamilies) {
    name = kOtherFamilies;
    found = index_.find(name);
  }
  if (found != index_.end()) return found->second;
  const size_t index = history_.families.size();
  history_.families.push_back({.name = std::string(name)});
  history_.families.back().timeline.SetBegin(history_.begin);
  reading_.push_back({.filled_since = history_.begin});
  index_.emplace(name, index);
  return index;
}

HistoryReader::Job& HistoryReader::JobOf(uint64_t number) {
  if (jobs_.size() >= kMostJobs && !jobs_.contains(number)) {
    std::erase_if(jobs_, [](const auto& job) { return !job.second.started; });
    if (jobs_.size() >= kMostJobs) EndRunning();
  }
  return jobs_[number];
}

void HistoryReader::AddOptionsFile(const OptionsText& options) {
  if (history_.version.empty()) history_.version = options.rocksdb_version;
  if (!told_db_options_) {
    history_.options = options;
    history_.options.families.clear();
  }
  for (const OptionsText::Family& family : options.families) {
    FamilyHistory& ours = history_.families[FamilyIndex(family.name)];
    if (!ours.options_known) ours.options = family.options;
    ours.options_known = true;
  }
}

DatabaseHistory HistoryReader::Finish() && {
  EndBlock();
  conditions_.End(history_.end);
  AccountFor(history_.end, false);
  history_.logged_seconds = std::max(0.0, LogSeconds(history_.end - history_.begin) - gaps_seconds_);
  history_.delayed_seconds = conditions_.delayed_seconds();
  history_.stopped_seconds = conditions_.stopped_seconds();
  history_.statistics = measured_.count();
  history_.measured_seconds = measured_.seconds();
  history_.covered_seconds = measured_.covered_seconds();
  history_.user_bytes = measured_.user_bytes();
  history_.episodes = conditions_.Episodes();
  for (size_t i = 0; i < history_.families.size(); ++i) {
    history_.families[i].stalls = conditions_.TotalsOf(i);
    const auto most = std::ranges::max_element(reading_[i].at_stalls, {}, &std::pair<LsmOptions, uint64_t>::second);
    if (most != reading_[i].at_stalls.end()) history_.families[i].options = most->first;
    SetLevels(reading_[i], &history_.families[i]);
  }
  const Timeline& stalled = conditions_.timeline();
  for (size_t i = 0; i < stalled.spans().size(); ++i)
    history_.timeline.Add(stalled.BeginOf(i), stalled.BeginOf(i + 1) - LogTime(1), stalled.spans()[i]);
  return std::move(history_);
}

// Sets what the first and last texts about the family tell. The numbers of files are known from the first job on, the
// sizes of the levels only from the first statistics, which may come minutes later.
void HistoryReader::SetLevels(const Reading& reading, FamilyHistory* family) const {
  const auto by_files = [&](const std::vector<uint64_t>& files) {
    const double mean = reading.table_bytes / static_cast<double>(std::max<uint64_t>(1, reading.tables));
    std::vector<double> bytes;
    for (const uint64_t number : files) bytes.push_back(mean * static_cast<double>(number));
    return bytes;
  };
  const auto by_table = [](const RocksDbCounters& counters) {
    std::vector<double> bytes;
    for (const RocksDbLevel& level : counters.levels)
      bytes.push_back(level.bytes >= 0 && level.bytes < kMostLevelBytes ? level.bytes : 0);
    return bytes;
  };
  family->first_levels = by_files(reading.first_files);
  family->last_levels = by_files(reading.last_files);
  if (reading.first_table.empty()) return;
  const bool several = !reading.last_table.empty();
  const RocksDbCounters first = ParseCountersText(reading.first_table, 1);
  const RocksDbCounters last = several ? ParseCountersText(reading.last_table, 1) : first;
  if (family->first_levels.empty()) family->first_levels = by_table(first);
  family->last_levels = by_table(last);
  for (const auto& [cause, count] : last.stall_causes) {
    // Counts from before the LOG are left out.
    const auto before = first.stall_causes.find(cause);
    const bool opened_here = history_.runs > 0;
    const uint64_t begin = opened_here || before == first.stall_causes.end() ? 0 : before->second;
    family->stall_counts[cause] = count >= begin ? count - begin : count;
  }
}

}  // namespace weir
