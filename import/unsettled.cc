#include "import/unsettled.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

size_t MarkBytes(const Chunk& chunk) {
  return chunk.begin.bytes == 0 && chunk.text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

}  // namespace

void Unsettled::Add(Chunk chunk) {
  weight_ += WeightOf(chunk);
  items_.push_back({.chunk = std::move(chunk), .rejects = {}});
}

void Unsettled::BeginBody() {
  for (Item& item : items_) item = Item{.chunk = std::move(item.chunk), .rejects = {}};
  next_ = 0;
  sending_ = false;
  body_lines_ = settled_lines_ = 0;
  told_ = not_taken_ = Tally();
}

std::optional<Unsettled::Body> Unsettled::Next() {
  for (; next_ < items_.size() && items_[next_].too_long(); ++next_)
    items_[next_].body_begin = items_[next_].body_end = body_lines_;
  if (next_ == items_.size()) return std::nullopt;
  Item& item = items_[next_];
  const std::string_view text = std::string_view(item.chunk.text).substr(MarkBytes(item.chunk));
  Body body;
  body[1] = text;
  // What looks like a mark at the begin of the body would be taken off: a blank line keeps it from there.
  if (body_lines_ == 0 && text.starts_with(kByteOrderMark)) {
    body[0] = "\n";
    body_lines_ = 1;
    told_[LineOutcome::kBlank] = 1;
  }
  // The last line of an input, before those of the next.
  if (!text.ends_with('\n')) body[2] = "\n";
  item.body_begin = body_lines_;
  body_lines_ += static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')) + body[2].size();
  item.body_end = body_lines_;
  sending_ = true;
  return body;
}

void Unsettled::NoteSent() {
  if (!std::exchange(sending_, false)) return;
  items_[next_].sent = true;
  ++next_;
}

bool Unsettled::any_sent() const {
  return std::any_of(items_.begin(), items_.end(), [](const Item& item) { return item.sent; });
}

void Unsettled::NoteReject(const ImportReject& reject) {
  const auto end = items_.begin() + static_cast<std::ptrdiff_t>(next_ + (sending_ ? 1 : 0));
  const auto found =
      std::partition_point(items_.begin(), end, [&](const Item& item) { return item.body_end < reject.line; });
  if (found == end || reject.line <= found->body_begin + found->seen_lines) return;
  Item& item = *found;
  const std::string& text = item.chunk.text;
  if (item.seen_lines == 0) item.seen_bytes = MarkBytes(item.chunk);
  size_t line_end = 0;
  size_t begin = item.seen_bytes;
  for (uint64_t line = item.body_begin + item.seen_lines + 1; line <= reject.line; ++line) {
    begin = item.seen_bytes;
    line_end = std::min(text.find('\n', begin), text.size());
    item.seen_bytes = std::min(line_end + 1, text.size());
  }
  item.seen_lines = reject.line - item.body_begin;
  item.rejects.push_back({.line = item.chunk.begin.lines + item.seen_lines,
                          .begin = begin,
                          .size = line_end - begin,
                          .outcome = reject.outcome,
                          .reason = reject.reason});
}

void Unsettled::NoteProgress(const ImportProgress& progress) {
  if (progress.lines < settled_lines_ || progress.lines == 0) return;
  settled_lines_ = progress.lines;
  for (size_t i = 0; i < kLineOutcomes; ++i) {
    if (IsRejected(static_cast<LineOutcome>(i)) || progress.tally.lines[i] < told_.lines[i]) continue;
    not_taken_.lines[i] += progress.tally.lines[i] - std::exchange(told_.lines[i], progress.tally.lines[i]);
  }
}

std::optional<SettledChunk> Unsettled::TakeSettled() {
  if (items_.empty()) return std::nullopt;
  const Item& first = items_.front();
  if (!first.too_long() && !(first.sent && first.body_end <= settled_lines_)) return std::nullopt;
  Item item = std::move(items_.front());
  items_.pop_front();
  if (next_ > 0) --next_;
  weight_ -= WeightOf(item.chunk);
  return Settle(std::move(item));
}

SettledChunk Unsettled::Settle(Item item) {
  if (item.too_long()) return judge_.Judge(std::move(item.chunk)).settled;
  const Tally tally = TakeTally(item);
  return {.chunk = std::move(item.chunk), .tally = tally, .rejects = std::move(item.rejects)};
}

Tally Unsettled::TakeTally(const Item& item) {
  Tally tally;
  tally.bytes = item.chunk.text.size();
  for (const Reject& reject : item.rejects) ++tally[reject.outcome];
  uint64_t left = item.body_end - item.body_begin - item.rejects.size();
  for (size_t i = 0; i < kLineOutcomes && left > 0; ++i) {
    const uint64_t taken = std::min(left, not_taken_.lines[i]);
    tally.lines[i] += taken;
    not_taken_.lines[i] -= taken;
    left -= taken;
  }
  return tally;
}

}  // namespace weir
