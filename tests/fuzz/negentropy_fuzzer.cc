// A message of negentropy, and the side that reads it: the answer is well-formed and keeps its bound, and is the same
// when it is made piece by piece.
#include "relay/negentropy/reconciler.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/target.h"

namespace weir {
namespace {

constexpr size_t kFrameBytes = Reconciler::kLeastFrameBytes;

const SyncSet& SetOfThousand() {
  static const SyncSet set = [] {
    SyncSet items;
    for (uint64_t n = 1000; n > 0; --n) {
      SyncItem item{.created_at = n / 7};
      for (uint64_t at = 0; at < item.id.size(); ++at)
        item.id[at] = static_cast<uint8_t>(at == 0 ? 7 - n % 7 : n * (at + 3));
      items.Add(item);
    }
    Must(items.Seal(), "the set is sealed");
    return items;
  }();
  return set;
}

void CheckMessage(std::string_view message, bool is_client) {
  SyncDifferences found;
  SyncDifferences found_in_pieces;
  Reconciler whole(SetOfThousand(), std::string(message), kFrameBytes, is_client ? &found : nullptr);
  Reconciler pieces(SetOfThousand(), std::string(message), kFrameBytes, is_client ? &found_in_pieces : nullptr);
  const Result<bool> done = whole.Next(UINT64_MAX / 2);
  Result<bool> done_in_pieces = false;
  while (done_in_pieces.ok() && !done_in_pieces.value()) done_in_pieces = pieces.Next(1);
  Must(done.ok() == done_in_pieces.ok() && done.status().message() == done_in_pieces.status().message(), "errors");
  if (!done.ok()) return;
  const std::string answer = whole.Take();
  Must(answer == pieces.Take() && found.have == found_in_pieces.have && found.need == found_in_pieces.need, "pieces");
  Must(answer.size() <= kFrameBytes && answer.empty() <= is_client, "the bound of an answer");
  if (answer.empty()) return;
  RangeReader in(std::string_view(answer).substr(1));
  while (!in.at_end()) Must(in.Next().ok(), "a well-formed answer");
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view message = weir::Text(data, size);
  const bool is_client = weir::TakeByte(&message) % 2 == 1;
  weir::CheckMessage(message, is_client);
  return 0;
}
