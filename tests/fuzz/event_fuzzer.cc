// An event as a client or a file brings it: EventParser against the slow reader of tests/relay/nostr.
#include "tests/fuzz/target.h"
#include "tests/relay/nostr/nostr_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::CheckEvent(weir::Text(data, size));
  return 0;
}
