// Values that the store reads back from a disk or a database. The first byte chooses: a record, an entry of the index
// with the length of its range, the values under an id, an address and the counters, or the text of an `a` tag.
#include <optional>
#include <string>

#include "relay/store/keys.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/target.h"
#include "tests/relay/nostr/nostr_checks.h"

namespace weir {
namespace {

void CheckEntry(std::string_view key) {
  IndexEntry entry;
  const size_t range_size = TakeByte(&key) % 16;
  if (key.empty() || range_size < 3 || !ReadEntry(key, range_size, &entry)) return;
  Must(entry.serial <= kLastSerial);
}

void CheckCounters(std::string_view value) {
  Counters counters;
  if (ReadCounters(value, &counters)) Must(WriteCounters(counters) == value);
}

// The parts of a parsed address must be those of the text.
void CheckAddress(std::string_view text) {
  const std::optional<NamedAddress> address = ParseAddress(text);
  if (!address) return;
  Must(HasAddress(address->kind));
  const size_t colon = text.find(':');
  Must(std::stoul(std::string(text.substr(0, colon))) == address->kind);
  Must(text.substr(colon + 1) == ToHex(address->author) + ":" + std::string(address->d));
}

void Check(std::string_view text) {
  IndexEntry entry;
  switch (TakeByte(&text)) {
    case 'e':
      return CheckEntry(text);
    case 'i':
      return Must(ReadIdValue(text, &entry) == (text.size() == 14));
    case 'd':
      return Must(ReadAddressValue(text, &entry) == (text.size() == 18));
    case 'm':
      return CheckCounters(text);
    case 'a':
      return CheckAddress(text);
    default:
      return CheckRecord(text);
  }
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
