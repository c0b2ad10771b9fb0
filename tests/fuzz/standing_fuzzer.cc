// The snapshot of authors' standing. The first byte chooses: 'h' appends the right hash, so that the records are read.
#include "relay/nostr/signature.h"
#include "relay/standing/standing_snapshot.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/target.h"

namespace weir {
namespace {

constexpr uint64_t kNow = 1'700'000'000;

void Check(std::string_view text) {
  const bool hashed = TakeByte(&text) == 'h';
  std::string bytes(text);
  if (hashed) {
    const Bytes32 hash = Sha256(text);
    bytes.append(hash.begin(), hash.end());
  }
  AuthorTable table(4 * AuthorTable::kShards);
  const Status status = ReadSnapshot(bytes, kNow, &table);
  Must(status.ok() || status.message().starts_with("is "), status.message());
  uint64_t authors = 0;
  table.ForEach([&](const PublicKey&, const AuthorRecord& record) {
    ++authors;
    Must(!ExplainRung(record, kNow).empty());
  });
  Must(status.ok() ? authors <= bytes.size() / 60 : authors == 0);
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
