// The bytes that an event's id is the hash of: AppendCanonical against the tree of tests/relay/nostr, for any JSON.
#include "tests/fuzz/target.h"
#include "tests/relay/nostr/nostr_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::CheckCanonical(weir::Text(data, size));
  return 0;
}
