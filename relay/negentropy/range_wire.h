// Reads and writes the messages of negentropy, version 1 (NIP-77, appendix). A message is a byte with the version, then
// ranges, each of which begins at the end of the one before:
//
//   end of the range | mode | what the mode needs: nothing, a fingerprint, or a number of ids and the ids
//
// An end is a date and the first bytes of an id; the bytes that are left out are zeros. Dates are written as the
// difference to the date before, plus 1; 0 stands for kInfinity.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/status.h"
#include "relay/negentropy/id_sum.h"
#include "relay/negentropy/sync_set.h"

namespace weir {

inline constexpr char kNegentropyVersion = 0x61;
// Returns true if the byte is that of a version of negentropy, known or not.
constexpr bool IsNegentropyVersion(char byte) { return byte >= 0x60 && byte <= 0x6f; }

enum class RangeMode : uint8_t {
  kSkip,         // the sender needs no more of this range
  kFingerprint,  // the sender has a set with this fingerprint in the range
  kIds,          // the sender has these ids in the range, and no others
};

struct SyncRange {
  SyncItem end;  // the range has the items before it
  RangeMode mode = RangeMode::kSkip;
  std::string_view payload;  // the fingerprint, or the ids one after the other; points into the message
};

// RangeReader: reads the ranges of a message.
class RangeReader {
 public:
  // `ranges` is a message without its first byte. It must outlive the reader.
  explicit RangeReader(std::string_view ranges) : in_(ranges) {}

  bool at_end() const { return in_.empty(); }
  // Reads the next range. Returns an error, for the sender, if the message is not well-formed or if the range ends
  // before it begins. After an error the reader must not be used any more.
  Result<SyncRange> Next();

 private:
  Result<SyncItem> TakeEnd();
  Result<std::string_view> TakeBytes(uint64_t count, uint64_t size, const char* what);

  std::string_view in_;
  SyncItem last_end_;
};

// RangeWriter: writes a message whose length is bounded. Joins ranges that are skipped.
class RangeWriter {
 public:
  // The most bytes of a range, besides its ids: an end, a mode and a fingerprint, or a number of ids.
  static constexpr size_t kMostRangeBytes = 64;

  // Skip always has room. Before each of the other functions the caller must check that there is room.
  explicit RangeWriter(size_t most_bytes) : most_bytes_(most_bytes), out_(1, kNegentropyVersion) {}

  // Returns the bytes of ranges that can still be written, so that one range with a fingerprint can follow them.
  size_t room() const;
  void Skip(const SyncItem& end) { skipped_to_ = end; }
  void WriteFingerprint(const SyncItem& end, const Fingerprint& fingerprint);
  // Writes the items from `begin` to `ids_end` of the set.
  void WriteIds(const SyncItem& end, const SyncPart& set, size_t begin, size_t ids_end);

  uint64_t bytes() const { return out_.capacity(); }
  // Returns true if only skipped ranges were written.
  bool is_empty() const { return out_.size() == 1; }
  // Returns the message, without the skipped ranges at its end. The writer must not be used any more.
  std::string Take() { return std::move(out_); }

 private:
  void Begin(const SyncItem& end, RangeMode mode);
  void WriteEnd(const SyncItem& end);

  const size_t most_bytes_;
  std::string out_;
  uint64_t last_date_ = 0;
  std::optional<SyncItem> skipped_to_;  // set if the last ranges are skipped, and not written yet
};

// Returns the shortest end that has `before` in the range and `behind` outside it.
SyncItem EndBetween(const SyncItem& before, const SyncItem& behind);

}  // namespace weir
