#include "relay/rules/proof_of_work.h"

#include <bit>
#include <charconv>
#include <vector>

namespace weir {
namespace {

uint64_t LeadingZeroBits(const EventId& id) {
  uint64_t bits = 0;
  for (const uint8_t byte : id) {
    bits += static_cast<uint64_t>(std::countl_zero(byte));
    if (byte != 0) break;
  }
  return bits;
}

// Returns the target difficulty in the nonce tag; `bits` if the tag has no target, 0 if there is no such tag.
uint64_t CommittedDifficulty(EventView event, uint64_t bits) {
  for (const std::vector<std::string>& tag : TagsNamed(event, "nonce")) {
    if (tag.size() <= 2 || tag[2].empty()) return bits;
    uint64_t target = 0;
    std::from_chars(tag[2].data(), tag[2].data() + tag[2].size(), target);
    return target;
  }
  return 0;
}

}  // namespace

std::string RefusalOfWork(EventView event, uint64_t least) {
  if (least == 0) return "";
  const uint64_t bits = LeadingZeroBits(event.id());
  if (bits < least) return "pow: difficulty " + std::to_string(bits) + " is less than " + std::to_string(least);
  const uint64_t committed = CommittedDifficulty(event, bits);
  if (committed >= least) return "";
  return "pow: the nonce tag must commit to a difficulty of at least " + std::to_string(least) + ", not " +
         std::to_string(committed);
}

}  // namespace weir
