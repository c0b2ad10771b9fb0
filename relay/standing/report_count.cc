#include "relay/standing/report_count.h"

#include <set>

#include "config/text/hex.h"

namespace weir {
namespace {

constexpr uint64_t kCountedSeconds = uint64_t{90} * 86'400;
constexpr size_t kMostReporters = 100;
constexpr Work kMostWork = 100 * kTurnWork;

}  // namespace

bool ReadReported(EventView report, PublicKey* author) {
  return FromHex(report.FirstTag('p'), author->data(), author->size()) && *author != report.pubkey();
}

Result<uint16_t> CountReporters(BulkReads& reads, const PublicKey& author, uint64_t now_seconds,
                                const std::function<bool(const PublicKey& reporter)>& counts) {
  Filter filter;
  filter.kinds = {kReportKind};
  filter.tags = {{'p', {ToHex(author)}}};
  filter.since = now_seconds - std::min(now_seconds, kCountedSeconds);
  std::set<PublicKey> reporters;
  QueryOptions options{.now_seconds = now_seconds, .default_limit = kMostReporters, .fills_cache = false};
  options.visible = [&](EventView report) {
    PublicKey reported;
    return ReadReported(report, &reported) && reported == author && !reporters.contains(report.pubkey()) &&
           counts(report.pubkey());
  };
  const Result<bool> read =
      reads.Read({std::move(filter)}, options, kMostWork, [&](EventView report) { reporters.insert(report.pubkey()); });
  if (!read.ok()) return read.status();
  return static_cast<uint16_t>(reporters.size());
}

}  // namespace weir
