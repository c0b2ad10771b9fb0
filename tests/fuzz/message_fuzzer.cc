// A client's message: ParseClientMessage against the tree of tests/relay/nostr.
#include "tests/fuzz/target.h"
#include "tests/relay/nostr/nostr_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::CheckClientMessage(weir::Text(data, size));
  return 0;
}
