// The text and the JSON of a SyncResult (sync_run.h).
#include <fmt/format.h>

#include "config/text/json_writer.h"
#include "config/text/readable.h"
#include "import/sync/sync_run.h"

namespace weir {
namespace {

void AppendReasons(const ReasonCounts& reasons, std::string* text) {
  for (const auto& [reason, count] : reasons.counts())
    *text += fmt::format("  {} {}\n", count, reason.empty() ? "without a reason" : AsText(reason));
}

std::string DownText(const SyncResult& result) {
  std::string text = fmt::format("down: {} events", result.counts.received);
  for (size_t n = 0; n < kLineOutcomes; ++n) {
    const auto outcome = static_cast<LineOutcome>(n);
    if (result.saved[outcome] > 0) text += fmt::format(", {} {}", result.saved[outcome], NameOf(outcome));
  }
  text += "\n";
  AppendReasons(result.rejected, &text);
  const SyncCounts& counts = result.counts;
  if (counts.missing > 0) text += fmt::format("  {} more that the relay announced and does not give\n", counts.missing);
  if (counts.unasked > 0)
    text += fmt::format("  {} more that do not match the filter, and are not saved\n", counts.unasked);
  return text;
}

std::string UpText(const SyncCounts& counts) {
  const uint64_t refused = counts.refused.sum();
  std::string text = fmt::format("up: {} events, {} accepted", counts.accepted + refused, counts.accepted);
  if (refused > 0) text += fmt::format(", {} refused", refused);
  text += "\n";
  AppendReasons(counts.refused, &text);
  if (counts.gone > 0) text += fmt::format("  {} more that are not stored any more\n", counts.gone);
  if (counts.withheld > 0)
    text += fmt::format("  {} more that are private, and are not sent unless --filter names their kinds\n",
                        counts.withheld);
  return text;
}

std::string ComparedText(const SyncCounts& counts) {
  std::string text = fmt::format("compared {} events here, in", counts.stored);
  if (counts.rounds > 0 || counts.pages == 0) text += fmt::format(" {} rounds of NIP-77", counts.rounds);
  if (counts.pages > 0) text += fmt::format("{} {} pages", counts.rounds > 0 ? " and" : "", counts.pages);
  text += fmt::format("; {} out, {} in\n", ReadableBytes(counts.bytes_sent), ReadableBytes(counts.bytes_received));
  if (counts.pages > 0) text += "  by pages, because: " + AsText(counts.by_pages) + "\n";
  if (counts.cut_seconds > 0)
    text += fmt::format("  {} seconds have more events than a page of the relay, so some are not compared\n",
                        counts.cut_seconds);
  return text;
}

void Write(std::string_view name, const ReasonCounts& reasons, JsonWriter& json) {
  json.Member(name).Open('{');
  for (const auto& [reason, count] : reasons.counts()) json.Member(reason).Number(count);
  json.Close('}');
}

}  // namespace

std::string ToText(const SyncResult& result, SyncDirection direction, bool dry_run) {
  const SyncCounts& counts = result.counts;
  std::string text = ComparedText(counts);
  if (dry_run) {
    return text +
           fmt::format("{} events are only there, {} only here; none is carried over\n", counts.need, counts.have);
  }
  if (direction != SyncDirection::kUp) text += DownText(result);
  if (direction != SyncDirection::kDown) text += UpText(counts);
  return text;
}

std::string ToJsonLine(const SyncResult& result) {
  const SyncCounts& counts = result.counts;
  JsonWriter json(JsonWriter::Layout::kCompact);
  json.Open('{');
  json.Member("whole").Bool(result.status.ok() && counts.is_whole());
  json.Member("stored").Number(counts.stored);
  json.Member("need").Number(counts.need);
  json.Member("have").Number(counts.have);
  json.Member("rounds").Number(counts.rounds);
  json.Member("pages").Number(counts.pages);
  json.Member("by_pages").String(counts.by_pages);
  json.Member("cut_seconds").Number(counts.cut_seconds);
  json.Member("bytes_sent").Number(counts.bytes_sent);
  json.Member("bytes_received").Number(counts.bytes_received);
  json.Member("received").Number(counts.received);
  json.Member("missing").Number(counts.missing);
  json.Member("unasked").Number(counts.unasked);
  json.Member("saved").Open('{');
  for (size_t n = 0; n < kLineOutcomes; ++n) {
    const auto outcome = static_cast<LineOutcome>(n);
    json.Member(KeyOf(outcome)).Number(result.saved[outcome]);
  }
  json.Close('}');
  Write("rejected", result.rejected, json);
  json.Member("accepted").Number(counts.accepted);
  json.Member("gone").Number(counts.gone);
  json.Member("withheld").Number(counts.withheld);
  Write("refused", counts.refused, json);
  json.Member("error").String(result.status.ok() ? "" : result.status.message());
  json.Close('}');
  return std::move(json).Text();
}

}  // namespace weir
