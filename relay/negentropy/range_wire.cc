#include "relay/negentropy/range_wire.h"

#include <algorithm>
#include <utility>

#include "relay/negentropy/varint.h"

namespace weir {
namespace {

constexpr size_t kIdBytes = sizeof(EventId);

Status NoNumber(const char* what) {
  return Status::Error(std::string("the ") + what +
                       " of a range is cut off, has more than 64 bits, or has more digits than it needs");
}

}  // namespace

Result<SyncRange> RangeReader::Next() {
  Result<SyncItem> end = TakeEnd();
  if (!end.ok()) return end.status();
  if (end.value() < last_end_) return Status::Error("a range ends before it begins");
  last_end_ = end.value();
  SyncRange range{.end = end.value(), .mode = RangeMode::kSkip, .payload = {}};
  const std::optional<uint64_t> mode = TakeVarint(&in_);
  if (!mode) return NoNumber("mode");
  if (*mode == 0) return range;
  uint64_t ids = 0;
  if (*mode == 2) {
    const std::optional<uint64_t> count = TakeVarint(&in_);
    if (!count) return NoNumber("number of ids");
    ids = *count;
  } else if (*mode != 1) {
    return Status::Error("a range has the mode " + std::to_string(*mode) + ", not 0, 1 or 2");
  }
  range.mode = *mode == 1 ? RangeMode::kFingerprint : RangeMode::kIds;
  const Result<std::string_view> payload =
      *mode == 1 ? TakeBytes(1, sizeof(Fingerprint), "fingerprint") : TakeBytes(ids, kIdBytes, "list of ids");
  if (!payload.ok()) return payload.status();
  range.payload = payload.value();
  return range;
}

Result<SyncItem> RangeReader::TakeEnd() {
  SyncItem end;
  const std::optional<uint64_t> date = TakeVarint(&in_);
  const std::optional<uint64_t> prefix = date ? TakeVarint(&in_) : std::nullopt;
  if (!prefix) return NoNumber("end");
  if (*date > kInfinity.created_at - last_end_.created_at)
    return Status::Error("the end of a range has a date of more than 64 bits");
  end.created_at = *date == 0 ? kInfinity.created_at : last_end_.created_at + (*date - 1);
  const uint64_t most = *date == 0 ? 0 : kIdBytes;
  if (*prefix > most) {
    return Status::Error("the end of a range has " + std::to_string(*prefix) + " bytes of an id; at most " +
                         std::to_string(most) + " are possible");
  }
  const Result<std::string_view> bytes = TakeBytes(*prefix, 1, "end");
  if (!bytes.ok()) return bytes.status();
  std::copy(bytes.value().begin(), bytes.value().end(), end.id.begin());
  return end;
}

// Removes `count` pieces of `size` bytes each.
Result<std::string_view> RangeReader::TakeBytes(uint64_t count, uint64_t size, const char* what) {
  if (count > in_.size() / size) return Status::Error(std::string("the ") + what + " of a range is cut off");
  const std::string_view bytes = in_.substr(0, count * size);
  in_.remove_prefix(bytes.size());
  return bytes;
}

// Keeps room for a skipped range and for a fingerprint to kInfinity, each of less than kMostRangeBytes.
size_t RangeWriter::room() const {
  const size_t used = out_.size() + 2 * kMostRangeBytes;
  return used < most_bytes_ ? most_bytes_ - used : 0;
}

void RangeWriter::WriteFingerprint(const SyncItem& end, const Fingerprint& fingerprint) {
  Begin(end, RangeMode::kFingerprint);
  out_.append(reinterpret_cast<const char*>(fingerprint.data()), fingerprint.size());
}

void RangeWriter::WriteIds(const SyncItem& end, const SyncPart& set, size_t begin, size_t ids_end) {
  Begin(end, RangeMode::kIds);
  AppendVarint(ids_end - begin, &out_);
  for (size_t i = begin; i < ids_end; ++i) out_.append(reinterpret_cast<const char*>(set[i].id.data()), kIdBytes);
}

void RangeWriter::Begin(const SyncItem& end, RangeMode mode) {
  if (skipped_to_) {
    WriteEnd(*std::exchange(skipped_to_, std::nullopt));
    AppendVarint(static_cast<uint64_t>(RangeMode::kSkip), &out_);
  }
  WriteEnd(end);
  AppendVarint(static_cast<uint64_t>(mode), &out_);
}

void RangeWriter::WriteEnd(const SyncItem& end) {
  AppendVarint(end.created_at == kInfinity.created_at ? 0 : end.created_at - last_date_ + 1, &out_);
  last_date_ = end.created_at;
  size_t prefix = kIdBytes;
  while (prefix > 0 && end.id[prefix - 1] == 0) --prefix;
  AppendVarint(prefix, &out_);
  out_.append(reinterpret_cast<const char*>(end.id.data()), prefix);
}

SyncItem EndBetween(const SyncItem& before, const SyncItem& behind) {
  SyncItem end{.created_at = behind.created_at};
  if (before.created_at != behind.created_at) return end;
  const auto differ = std::mismatch(behind.id.begin(), behind.id.end(), before.id.begin()).first;
  std::copy(behind.id.begin(), std::min(differ + 1, behind.id.end()), end.id.begin());
  return end;
}

}  // namespace weir
