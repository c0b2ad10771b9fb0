#include "import/run/summary.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <utility>

#include "config/text/json_writer.h"
#include "config/text/readable.h"
#include "import/input/input_file.h"

namespace weir {
namespace {

double PerSecond(uint64_t count, Duration time) {
  return time > Duration::zero() ? static_cast<double>(count) / ToSeconds(time) : 0;
}

uint64_t LinesOfThisRun(const ImportSummary& s) { return s.tally.read() - s.read_before; }
uint64_t BytesOfThisRun(const ImportSummary& s) { return s.tally.bytes - s.bytes_before; }

// "imported       99000"
std::string Row(size_t indent, std::string_view name, uint64_t count) {
  char text[128];
  std::snprintf(text, sizeof(text), "%*s%-*.*s %12" PRIu64 "\n", static_cast<int>(indent), "",
                static_cast<int>(32 - indent), static_cast<int>(name.size()), name.data(), count);
  return text;
}

std::string_view NameOf(LineOutcome outcome, bool dry_run) {
  return dry_run && outcome == LineOutcome::kImported ? "would be imported" : NameOf(outcome);
}

std::string Rows(const Tally& tally, bool dry_run) {
  std::string text = Row(2, "read", tally.read());
  for (size_t i = 0; i < kFirstRejected; ++i) {
    const auto outcome = static_cast<LineOutcome>(i);
    if (tally[outcome] > 0 || outcome == LineOutcome::kImported || outcome == LineOutcome::kDuplicate)
      text += Row(2, NameOf(outcome, dry_run), tally[outcome]);
  }
  text += Row(2, "rejected", tally.rejected());
  for (size_t i = kFirstRejected; i < kLineOutcomes; ++i) {
    const auto outcome = static_cast<LineOutcome>(i);
    if (tally[outcome] > 0) text += Row(4, NameOf(outcome), tally[outcome]);
  }
  return text;
}

std::string Headline(const ImportSummary& s) {
  std::string text = s.dry_run ? "dry run" : "import";
  text += s.end == ImportSummary::End::kWhole ? " finished in " : " ended early after ";
  text += ShortTime(s.time) + ": " + ShortNumber(AsCount(PerSecond(LinesOfThisRun(s), s.time))) + " lines/s, " +
          ReadableBytes(AsCount(PerSecond(BytesOfThisRun(s), s.time))) + "/s\n";
  return text;
}

double ToTheThousandth(double number) { return std::round(number * 1000) / 1000; }

// Says where the import ended. The caller prints the error on standard error.
std::string Ending(const ImportSummary& s) {
  std::string text;
  for (const std::string& input : s.not_begun)
    text.append(text.empty() ? "not begun: " : ", ").append(AsText(InputFile::NameOf(input)));
  if (!text.empty()) text += "\n";
  text += "stopped after line " + std::to_string(s.line) + " of " + AsText(InputFile::NameOf(s.input));
  if (!s.damaged.empty()) text += "; repair or replace " + AsText(InputFile::NameOf(s.damaged));
  if (!s.go_on.empty()) text += (s.damaged.empty() ? "; go on with: " : ", then: ") + s.go_on;
  return text;
}

}  // namespace

int ExitCode(const ImportSummary& summary) {
  if (summary.end != ImportSummary::End::kWhole) return 2;
  return summary.tally.rejected() > 0 ? 1 : 0;
}

std::string ToText(const ImportSummary& s) {
  std::string text = Headline(s) + Rows(s.tally, s.dry_run);
  if (s.read_before > 0) text += "of these, " + std::to_string(s.read_before) + " lines were read before it went on\n";
  text += "throttled " + std::to_string(s.conditions.throttled) + " times (" + ShortTime(s.conditions.throttled_time) +
          " total)\n";
  if (s.tally.rejected() > 0) {
    text += s.rejects.empty() ? "the rejected lines are not kept; --rejects FILE keeps them\n"
                              : "the rejected lines are in " + AsText(s.rejects) + "\n";
  }
  if (s.end == ImportSummary::End::kWhole) return text;
  return text + Ending(s) + "\n";
}

std::string ToJsonLine(const ImportSummary& s) {
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{');
  json.Member("whole").Bool(s.end == ImportSummary::End::kWhole);
  json.Member("dry_run").Bool(s.dry_run);
  json.Member("read").Number(s.tally.read());
  for (size_t i = 0; i < kLineOutcomes; ++i) json.Member(KeyOf(static_cast<LineOutcome>(i))).Number(s.tally.lines[i]);
  json.Member("rejected").Number(s.tally.rejected());
  json.Member("bytes").Number(s.tally.bytes);
  json.Member("read_before").Number(s.read_before);
  json.Member("throttled").Number(s.conditions.throttled);
  json.Member("throttled_s").Number(ToTheThousandth(ToSeconds(s.conditions.throttled_time)));
  json.Member("seconds").Number(ToTheThousandth(ToSeconds(s.time)));
  json.Member("lines_per_s").Number(ToTheThousandth(PerSecond(LinesOfThisRun(s), s.time)));
  json.Member("mb_per_s").Number(ToTheThousandth(PerSecond(BytesOfThisRun(s), s.time) / 1e6));
  json.Member("rejects").String(AsText(s.rejects));
  json.Member("input").String(AsText(s.input));
  json.Member("line").Number(s.line);
  json.Member("damaged").String(AsText(s.damaged));
  json.Member("not_begun").Open('[');
  for (const std::string& input : s.not_begun) json.String(AsText(input));
  json.Close(']');
  json.Member("go_on").String(AsText(s.go_on));
  json.Member("checkpoint_problem").String(AsText(s.checkpoint_problem));
  json.Member("error").String(AsText(s.error));
  json.Close('}');
  return std::move(json).Text();
}

}  // namespace weir
