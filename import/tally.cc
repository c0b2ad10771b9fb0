#include "import/tally.h"

#include <numeric>

namespace weir {
namespace {

struct Names {
  std::string_view name;
  std::string_view key;
};

constexpr std::array<Names, kLineOutcomes> kNames = {{
    {"imported", "imported"},
    {"duplicate", "duplicate"},
    {"replaced", "replaced"},
    {"deleted", "deleted"},
    {"expired", "expired"},
    {"refused by plugin or ban", "refused"},
    {"blank", "blank"},
    {"invalid", "invalid"},
    {"bad signature", "bad_signature"},
    {"too long", "too_long"},
    {"dated in the future", "future"},
    {"of a kind that is not stored", "not_stored"},
}};

}  // namespace

std::string_view NameOf(LineOutcome outcome) { return kNames[static_cast<size_t>(outcome)].name; }
std::string_view KeyOf(LineOutcome outcome) { return kNames[static_cast<size_t>(outcome)].key; }

Tally& Tally::operator+=(const Tally& other) {
  for (size_t i = 0; i < kLineOutcomes; ++i) lines[i] += other.lines[i];
  bytes += other.bytes;
  return *this;
}

uint64_t Tally::read() const { return std::accumulate(lines.begin(), lines.end(), uint64_t{0}); }

uint64_t Tally::rejected() const { return std::accumulate(lines.begin() + kFirstRejected, lines.end(), uint64_t{0}); }

uint64_t Tally::events() const { return read() - rejected() - (*this)[LineOutcome::kBlank]; }

}  // namespace weir
