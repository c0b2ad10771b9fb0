// The text and the JSON of a SyncResult (sync_run.h).
#include <fmt/format.h>

#include "config/text/json_writer.h"
#include "config/text/readable.h"
#include "import/sync/sync_run.h"

namespace weir {
namespace {

uint64_t SumOf(const std::map<std::string, uint64_t>& counts) {
  uint64_t sum = 0;
  for (const auto& [reason, count] : counts) sum += count;
  return sum;
}

void AppendReasons(const std::map<std::string, uint64_t>& reasons, std::string* text) {
  for (const auto& [reason, count] : reasons)
    *text += fmt::format("  {} {}\n", count, reason.empty() ? "without a reason" : AsText(reason));
}

std::string DownText(const SyncResult& result) {
  std::string text = fmt::format("down: {} events", result.counts.received);
  for (size_t n = 0; n < kLineOutcomes; ++n) {
    const auto outcome = static_cast<LineOutcome>(n);
    if (result.saved[outcome] > 0) text += fmt::format(", {} {}", result.saved[outcome], NameOf(outcome));
  }
  if (result.counts.missing > 0) text += fmt::format(", {} that the relay does not give", result.counts.missing);
  text += "\n";
  AppendReasons(result.rejected, &text);
  return text;
}

std::string UpText(const SyncCounts& counts) {
  const uint64_t refused = SumOf(counts.refused);
  std::string text = fmt::format("up: {} events, {} accepted", counts.accepted + refused, counts.accepted);
  if (refused > 0) text += fmt::format(", {} refused", refused);
  if (counts.gone > 0) text += fmt::format(", {} deleted here meanwhile", counts.gone);
  text += "\n";
  AppendReasons(counts.refused, &text);
  return text;
}

void Write(std::string_view name, const std::map<std::string, uint64_t>& reasons, JsonWriter& json) {
  json.Member(name).Open('{');
  for (const auto& [reason, count] : reasons) json.Member(reason).Number(count);
  json.Close('}');
}

}  // namespace

std::string ToText(const SyncResult& result, SyncDirection direction, bool dry_run) {
  const SyncCounts& counts = result.counts;
  std::string text = fmt::format("compared {} events here in {} {}, {} out and {} in\n", counts.stored, counts.rounds,
                                 counts.by_pages.empty() ? "rounds of NIP-77" : "pages",
                                 ReadableBytes(counts.bytes_sent), ReadableBytes(counts.bytes_received));
  if (!counts.by_pages.empty()) text += "  by pages, because: " + AsText(counts.by_pages) + "\n";
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
  json.Member("whole").Bool(result.status.ok());
  json.Member("stored").Number(counts.stored);
  json.Member("need").Number(counts.need);
  json.Member("have").Number(counts.have);
  json.Member("rounds").Number(counts.rounds);
  json.Member("by_pages").String(counts.by_pages);
  json.Member("bytes_sent").Number(counts.bytes_sent);
  json.Member("bytes_received").Number(counts.bytes_received);
  json.Member("received").Number(counts.received);
  json.Member("missing").Number(counts.missing);
  json.Member("saved").Open('{');
  for (size_t n = 0; n < kLineOutcomes; ++n) {
    const auto outcome = static_cast<LineOutcome>(n);
    json.Member(KeyOf(outcome)).Number(result.saved[outcome]);
  }
  json.Close('}');
  Write("rejected", result.rejected, json);
  json.Member("accepted").Number(counts.accepted);
  json.Member("gone").Number(counts.gone);
  Write("refused", counts.refused, json);
  json.Member("error").String(result.status.ok() ? "" : result.status.message());
  json.Close('}');
  return std::move(json).Text();
}

}  // namespace weir
