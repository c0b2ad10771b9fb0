#include "relay/standing/standing_settings.h"

#include <algorithm>
#include <string_view>

#include "relay/nostr/npub.h"

namespace weir {
namespace {

Result<std::vector<PublicKey>> ParseKeys(std::string_view text) {
  constexpr std::string_view kSeparators = ", \t\r\n";
  std::vector<PublicKey> keys;
  for (size_t begin = text.find_first_not_of(kSeparators); begin != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kSeparators, begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const Result<PublicKey> key = ParsePublicKey(word);
    if (!key.ok()) return Status::Error("WEIR_TRUST_FROM: " + PrintableKey(word) + " " + key.status().message());
    keys.push_back(key.value());
    begin = text.find_first_not_of(kSeparators, end);
  }
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace

void Declare(SettingTable& table, StandingSettings& s) {
  table.Add("LADDER", &s.mode, {{"off", LadderMode::kOff}, {"observe", LadderMode::kObserve}, {"on", LadderMode::kOn}},
            "whether the relay measures the standing of authors, and whether it holds back strangers first");
  table.Add(
      "TRUST_FROM", &s.trust_from,
      "public keys (npub or hex, comma-separated) that are trusted, and whose follows are (or ORLY_ADMINS); empty: "
      "those of WEIR_RELAY_ADMIN_PUBKEY");
  table.AlsoFrom("TRUST_FROM", "ORLY_ADMINS");
  table.Add("LADDER_AUTHORS", &s.authors, {.min = 1'000, .max = 10'000'000, .unit = "authors"},
            "most authors whose standing is remembered, at 80 bytes each");
}

Status Check(const StandingSettings& s) {
  if (const Result<std::vector<PublicKey>> keys = ParseKeys(s.trust_from); !keys.ok()) return keys.status();
  if (s.mode != LadderMode::kOff || s.authors == StandingSettings{}.authors) return Status();
  return Status::Error(
      "WEIR_LADDER_AUTHORS is set, but has no effect with WEIR_LADDER=off: set that to observe or on, or unset this");
}

std::vector<PublicKey> TrustFrom(const StandingSettings& settings) { return ParseKeys(settings.trust_from).value(); }

}  // namespace weir
