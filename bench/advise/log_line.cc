#include "bench/advise/log_line.h"

#include <charconv>
#include <cstdio>

#include "config/text/hex.h"

namespace weir {
namespace {

constexpr size_t kDateSize = 10;      // 2026/12/01
constexpr size_t kDateTimeSize = 19;  // 2026/12/01-08:25:07
constexpr size_t kFractionDigits = 6;

// The texts that are looked for stand behind a thread, a place in RocksDB's sources and perhaps a second time.
constexpr size_t kHeadOfLine = 256;
constexpr size_t kLongestStallLine = 1024;

// Returns the number that the digits make; the caller has checked that they are digits.
int Digits(std::string_view text) {
  int number = 0;
  for (const char c : text) number = 10 * number + (c - '0');
  return number;
}

// Returns true if the text has the form: 0 stands for a digit, / for one of "/-", T for one of "-T " .
bool HasForm(std::string_view text, std::string_view form) {
  if (text.size() < form.size()) return false;
  for (size_t i = 0; i < form.size(); ++i) {
    const char c = text[i];
    const bool fits = form[i] == '0'   ? IsDigit(c)
                      : form[i] == '/' ? c == '/' || c == '-'
                      : form[i] == 'T' ? c == '-' || c == 'T' || c == ' '
                                       : c == form[i];
    if (!fits) return false;
  }
  return true;
}

// Returns the number behind `key`; 0 if there is none.
uint64_t NumberBehind(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  uint64_t number = 0;
  if (at != text.npos) std::from_chars(text.data() + at + key.size(), text.data() + text.size(), number);
  return number;
}

std::string_view QuotedBehind(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == text.npos) return "";
  text.remove_prefix(at + key.size());
  return text.substr(0, text.find('"'));
}

std::vector<uint64_t> NumbersBehind(std::string_view text, std::string_view key) {
  std::vector<uint64_t> numbers;
  const size_t at = text.find(key);
  if (at == text.npos) return numbers;
  constexpr size_t kMostLevels = 64;
  const char* from = text.data() + at + key.size();
  const char* const end = text.data() + text.size();
  while (numbers.size() < kMostLevels) {
    uint64_t number = 0;
    const auto [next, error] = std::from_chars(from, end, number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    if (end - next < 2 || *next != ',') break;
    from = next + 2;
  }
  return numbers;
}

// Returns the text in the last pair of brackets that ends before `end`.
std::string_view InBracketsBefore(std::string_view text, size_t end) {
  const std::string_view before = text.substr(0, end);
  const size_t close = before.find_last_of(']');
  if (close == before.npos) return "";
  size_t open = before.substr(0, close).rfind(" [");
  if (open == before.npos && before.starts_with('[')) return before.substr(1, close - 1);
  if (open == before.npos) return "";
  open += 2;
  return before.substr(open, close - open);
}

std::optional<LogEvent::Kind> KindOf(std::string_view event) {
  using Kind = LogEvent::Kind;
  if (event == "flush_started") return Kind::kFlushStarted;
  if (event == "flush_finished") return Kind::kFlushFinished;
  if (event == "table_file_creation") return Kind::kTableCreated;
  if (event == "compaction_started") return Kind::kCompactionStarted;
  if (event == "compaction_finished") return Kind::kCompactionFinished;
  return std::nullopt;
}

// Returns the event's own time, which counts in UTC, by the clock of the LOG. The two differ by the time zone, and by
// the time that the line waited to be written.
LogTime ByTheClockOf(const LoggedLine& line, uint64_t utc_micros) {
  constexpr LogTime kZoneStep = std::chrono::minutes(15);
  constexpr uint64_t kLatest = 4'102'444'800'000'000;  // 2100
  if (utc_micros == 0 || utc_micros > kLatest) return line.at;
  const LogTime utc(static_cast<int64_t>(utc_micros));
  const double steps = LogSeconds(line.at - utc) / LogSeconds(kZoneStep);
  return utc + kZoneStep * static_cast<int64_t>(steps + (steps < 0 ? -0.5 : 0.5));
}

}  // namespace

std::string FormatLogTime(LogTime at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date{std::chrono::sys_days(day)};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at - day).count();
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u %02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(seconds / 3600), static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  return text;
}

std::optional<LoggedLine> LineCutter::Cut(std::string_view line) {
  if (line.starts_with('[')) line.remove_prefix(1);
  if (!HasForm(line, "0000/00/00T00:00:00")) return std::nullopt;
  if (const std::string_view date_text = line.substr(0, kDateSize); date_text != day_) {
    const std::chrono::year_month_day date{std::chrono::year(Digits(line.substr(0, 4))),
                                           std::chrono::month(static_cast<unsigned>(Digits(line.substr(5, 2)))),
                                           std::chrono::day(static_cast<unsigned>(Digits(line.substr(8, 2))))};
    if (!date.ok() || date.year() < std::chrono::year(1970)) return std::nullopt;
    day_ = date_text;
    midnight_ = std::chrono::sys_days(date).time_since_epoch();
  }
  int64_t micros = 0;
  size_t at = kDateTimeSize;
  if (at < line.size() && (line[at] == '.' || line[at] == ',')) {
    ++at;
    for (size_t digits = 0; digits < kFractionDigits; ++digits) {
      const bool has = at < line.size() && IsDigit(line[at]);
      micros = 10 * micros + (has ? line[at] - '0' : 0);
      if (has) ++at;
    }
  }
  const auto part = [&](size_t from) { return Digits(line.substr(from, 2)); };
  return LoggedLine{midnight_ + std::chrono::hours(part(11)) + std::chrono::minutes(part(14)) +
                        std::chrono::seconds(part(17)) + LogTime(micros),
                    line.substr(at)};
}

std::optional<StallLine> ParseStallLine(std::string_view text) {
  constexpr std::string_view kBecause = " writes because ";
  if (text.size() > kLongestStallLine) return std::nullopt;
  const size_t at = text.find(kBecause);
  if (at == text.npos) return std::nullopt;
  const std::string_view before = text.substr(0, at), why = text.substr(at + kBecause.size());
  StallLine line{.stops = before.ends_with("Stopping")};
  if (!line.stops && !before.ends_with("Stalling")) return std::nullopt;
  if (why.find(" immutable memtables") != why.npos) {
    line.limit = StallLimit::kMemtables;
  } else if (why.find(" level-0 files") != why.npos) {
    line.limit = StallLimit::kL0Files;
  } else if (why.find("pending compaction bytes") != why.npos) {
    line.limit = StallLimit::kPendingBytes;
  } else {
    return std::nullopt;
  }
  line.family = InBracketsBefore(text, at);
  return line;
}

std::optional<LogEvent> ParseLogEvent(const LoggedLine& line) {
  constexpr std::string_view kMark = "EVENT_LOG_v1 {";
  const size_t at = line.text.substr(0, kHeadOfLine).find(kMark);
  if (at == line.text.npos) return std::nullopt;
  const std::string_view json = line.text.substr(at + kMark.size());
  const auto kind = KindOf(QuotedBehind(json.substr(0, kHeadOfLine), "\"event\": \""));
  if (!kind) return std::nullopt;
  LogEvent event{.kind = *kind,
                 .at = ByTheClockOf(line, NumberBehind(json, "\"time_micros\": ")),
                 .job = NumberBehind(json, "\"job\": "),
                 .family = QuotedBehind(json, "\"cf_name\": \"")};
  switch (event.kind) {
    case LogEvent::Kind::kFlushStarted:
      event.memtables = NumberBehind(json, "\"num_memtables\": ");
      event.data_bytes = NumberBehind(json, "\"total_data_size\": ");
      break;
    case LogEvent::Kind::kTableCreated:
      event.bytes = NumberBehind(json, "\"file_size\": ");
      break;
    case LogEvent::Kind::kCompactionFinished:
      event.bytes = NumberBehind(json, "\"total_output_size\": ");
      event.files = NumberBehind(json, "\"num_output_files\": ");
      event.output_level = NumberBehind(json, "\"output_level\": ");
      [[fallthrough]];
    case LogEvent::Kind::kFlushFinished:
      event.levels = NumbersBehind(json, "\"lsm_state\": [");
      break;
    case LogEvent::Kind::kCompactionStarted:
      break;
  }
  return event;
}

std::optional<JobLine> ParseJobLine(std::string_view text) {
  constexpr std::string_view kJob = "] [JOB ";
  text = text.substr(0, kHeadOfLine);
  const size_t at = text.find(kJob);
  if (at == text.npos) return std::nullopt;
  const JobLine line{InBracketsBefore(text, at + 1), NumberBehind(text, kJob)};
  // Some lines have only a place in RocksDB's sources before the job.
  if (line.family.empty() || line.family.find(".cc:") != line.family.npos) return std::nullopt;
  return line;
}

}  // namespace weir
