#include "import/relay_part.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

// The relay removes a byte order mark at the start of a body. In the middle of the input the same bytes are part of a
// line. A blank line before them makes the relay keep them.
bool NeedsBlankLine(const Chunk& part) { return part.begin.bytes > 0 && part.text.starts_with(kByteOrderMark); }

}  // namespace

bool Join(const Chunk& next, Chunk* part) {
  const bool lines = part->kind == Chunk::Kind::kLines && next.kind == Chunk::Kind::kLines;
  if (!lines || next.input != part->input || WeightOf(*part) + WeightOf(next) > kMostPartWeight) return false;
  part->text += next.text;
  part->end = next.end;
  part->file_bytes = next.file_bytes;
  return true;
}

std::array<std::string_view, 2> BodyOf(const Chunk& part) { return {NeedsBlankLine(part) ? "\n" : "", part.text}; }

Result<SettledChunk> Settle(Chunk* part, const ImportProgress& done, std::vector<ImportReject> rejects) {
  const uint64_t added = NeedsBlankLine(*part) ? 1 : 0;
  const uint64_t lines = part->end.lines - part->begin.lines;
  Tally tally = done.tally;
  const bool of_these = done.lines == lines + added && tally.read() == done.lines &&
                        tally[LineOutcome::kBlank] >= added && tally.rejected() == rejects.size();
  if (!of_these) return Status::Error("does not answer for the lines that it was sent");
  tally[LineOutcome::kBlank] -= added;
  tally.bytes = part->text.size();
  SettledChunk settled{.chunk = {}, .tally = tally, .rejects = {}};
  const std::string_view text = part->text;
  uint64_t line = added;  // number, in the body, of the line from `begin` to `next`
  size_t begin = 0;
  size_t next = part->begin.bytes == 0 && text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  for (ImportReject& reject : rejects) {
    if (reject.line <= line || reject.line > done.lines) return Status::Error("does not answer as a relay does");
    for (; line < reject.line; ++line) {
      begin = next;
      next = std::min(text.find('\n', begin), text.size() - 1) + 1;
    }
    settled.rejects.push_back({.line = part->begin.lines + line - added,
                               .begin = begin,
                               .size = next - begin - (text[next - 1] == '\n' ? 1 : 0),
                               .outcome = reject.outcome,
                               .reason = std::move(reject.reason)});
  }
  settled.chunk = std::move(*part);
  return settled;
}

}  // namespace weir
