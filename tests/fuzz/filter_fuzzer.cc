// A filter, and events in the lines behind it: both are read and matched as by the slow code of tests/relay/nostr.
#include <algorithm>

#include "tests/fuzz/target.h"
#include "tests/relay/nostr/nostr_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text = weir::Text(data, size);
  const auto take_line = [&text] {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
  };
  const std::string_view filter = take_line();
  std::vector<weir::ReferenceEvent> events;
  while (!text.empty()) {
    const auto event = weir::ReadReferenceEvent(take_line());
    if (event && event->HasItsId()) events.push_back(*event);
  }
  weir::CheckFilter(filter, events);
  return 0;
}
