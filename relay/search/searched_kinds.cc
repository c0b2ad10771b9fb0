#include "relay/search/searched_kinds.h"

#include <algorithm>

#include "config/text/parse.h"
#include "relay/nostr/gift_wrap.h"

namespace weir {
namespace {

// The content of these is encrypted, or no store keeps them.
bool CannotBeSearched(uint16_t kind) {
  constexpr uint16_t kDirectMessage = 4;
  constexpr uint16_t kSeal = 13;
  return kind == kDirectMessage || kind == kSeal || kind == kGiftWrapKind || ClassOf(kind) == KindClass::kEphemeral;
}

}  // namespace

Result<std::vector<uint16_t>> ParseSearchedKinds(std::string_view text) {
  std::vector<uint16_t> kinds;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    std::string one(text.substr(0, end));
    one.erase(0, one.find_first_not_of(' '));
    one.erase(one.find_last_not_of(' ') + 1);
    const Result<uint64_t> kind = ParseUnsigned(one, {.min = 0, .max = 65535});
    if (!kind.ok())
      return Status::Error("\"" + Printable(one) + "\" is no kind: name kinds with commas, such as 1,30023");
    if (CannotBeSearched(static_cast<uint16_t>(kind.value())))
      return Status::Error("kind " + one + " cannot be searched: its content is encrypted, or it is not stored");
    kinds.push_back(static_cast<uint16_t>(kind.value()));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  if (kinds.size() > kMostSearchedKinds)
    return Status::Error("at most " + std::to_string(kMostSearchedKinds) + " kinds can be searched, not " +
                         std::to_string(kinds.size()));
  return kinds;
}

void AddSorted(const std::vector<uint16_t>& more, std::vector<uint16_t>* kinds) {
  kinds->insert(kinds->end(), more.begin(), more.end());
  std::sort(kinds->begin(), kinds->end());
  kinds->erase(std::unique(kinds->begin(), kinds->end()), kinds->end());
}

std::string ToText(const std::vector<uint16_t>& kinds) {
  std::string text;
  for (const uint16_t kind : kinds) text += (text.empty() ? "" : ",") + std::to_string(kind);
  return text;
}

}  // namespace weir
