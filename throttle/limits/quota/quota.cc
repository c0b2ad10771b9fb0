#include "throttle/limits/quota/quota.h"

#include <array>

#include "config/text/parse.h"
#include "config/text/percent.h"
#include "config/text/utf8.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, kQuotaCodes> kCodeNames = {
    "ok",           "unlimited",    "unknown_model", "invalid_tokens", "invalid_name",   "rpd_exceeded",
    "rpm_exceeded", "tpm_exceeded", "tier_exceeded", "too_large",      "too_many_names", "store_unavailable",
    "denied",       "key_reused",
};

Status NameError(std::string_view what, const std::string& problem) {
  return Status::Error(std::string(what) + ": " + problem);
}

// Checks the characters from index `at` on. The byte there is the first that is not printable ASCII.
Status CheckCharacters(std::string_view what, std::string_view name, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(name[i]); };
  while (at < name.size()) {
    const size_t size = Utf8Length(name.substr(at));
    if (size == 0) return NameError(what, "not valid UTF-8 at byte " + std::to_string(at));
    const bool below_a0 = byte(at) == 0xc2 && byte(at + 1) < 0xa0;
    if (byte(at) < 0x20 || byte(at) == 0x7f || below_a0)
      return NameError(what, "has a control character at byte " + std::to_string(at));
    at += size;
  }
  return {};
}

bool IsEscaped(char c) { return c == '%' || c == ':' || c == '{' || c == '}' || c == '@'; }

}  // namespace

Status CheckName(std::string_view what, std::string_view name) {
  if (name.empty()) return NameError(what, "is empty");
  if (name.size() > kMaxNameBytes)
    return NameError(what, "has " + std::to_string(name.size()) + " bytes, at most " + std::to_string(kMaxNameBytes) +
                               " are allowed");
  size_t at = 0;
  while (at < name.size() && name[at] >= 0x20 && name[at] < 0x7f) ++at;
  return at == name.size() ? Status() : CheckCharacters(what, name, at);
}

std::string EscapeName(std::string_view name) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  if (std::ranges::none_of(name, IsEscaped)) return std::string(name);
  std::string escaped;
  for (const char c : name) {
    if (IsEscaped(c)) {
      const auto byte = static_cast<uint8_t>(c);
      escaped.append({'%', kHex[byte >> 4], kHex[byte & 15]});
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string UnescapeName(std::string_view escaped) { return DecodePercent(escaped).value_or(std::string(escaped)); }

Status CheckQuota(std::string_view model, const ModelQuota& quota) {
  struct Field {
    std::string_view name;
    int64_t value;
  };
  for (const Field& field :
       {Field{"max_rpm", quota.max_rpm}, Field{"max_tpm", quota.max_tpm}, Field{"max_rpd", quota.max_rpd}})
    if (field.value < 0)
      return Status::Error("quota of " + Printable(model) + ": " + std::string(field.name) + " is " +
                           std::to_string(field.value) + "; it must be a limit, or 0 for none");
  return {};
}

std::string Describe(const ModelQuota& quota) {
  const auto part = [](int64_t amount, std::string_view limited, std::string_view unlimited) {
    return amount == 0 ? std::string(unlimited) : std::to_string(amount) + std::string(limited);
  };
  return part(quota.max_rpm, " requests/min", "no limit of requests/min") + ", " +
         part(quota.max_tpm, " tokens/min", "no limit of tokens/min") + ", " +
         part(quota.max_rpd, " requests/day", "no limit a day");
}

std::string_view NameOf(QuotaCode code) { return kCodeNames[static_cast<size_t>(code)]; }

}  // namespace weir
