#include "throttle/quota/quota.h"

#include <array>
#include <charconv>
#include <optional>

#include "config/parse.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, kQuotaCodes> kCodeNames = {
    "ok",           "unlimited",    "unknown_model", "invalid_tokens", "invalid_name",   "rpd_exceeded",
    "rpm_exceeded", "tpm_exceeded", "tier_exceeded", "too_large",      "too_many_names", "store_unavailable",
};

uint8_t ByteAt(std::string_view text, size_t at) { return static_cast<uint8_t>(text[at]); }

struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 0;
};

// Nothing where the bytes there are not UTF-8: cut off, overlong, a surrogate, or beyond U+10FFFF.
std::optional<CodePoint> CodePointAt(std::string_view text, size_t at) {
  const uint8_t lead = ByteAt(text, at);
  if (lead < 0x80) return CodePoint{lead, 1};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes > text.size() - at) return {};
  uint32_t value = lead & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    const uint8_t byte = ByteAt(text, at + i);
    if ((byte & 0xc0) != 0x80) return {};
    value = value << 6 | (byte & 0x3f);
  }
  static constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < kLeast[bytes] || value > 0x10ffff || surrogate) return {};
  return CodePoint{value, bytes};
}

Status NameError(std::string_view what, const std::string& problem) {
  return Status::Error(std::string(what) + ": " + problem);
}

// From the first byte on that is not plain ASCII.
Status CheckCharacters(std::string_view what, std::string_view name, size_t at) {
  while (at < name.size()) {
    const std::optional<CodePoint> point = CodePointAt(name, at);
    if (!point) return NameError(what, "not valid UTF-8 at byte " + std::to_string(at));
    if (point->value < 0x20 || (point->value >= 0x7f && point->value < 0xa0))
      return NameError(what, "has a control character at byte " + std::to_string(at));
    at += point->bytes;
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
  std::string escaped;
  escaped.reserve(name.size());
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

std::string UnescapeName(std::string_view escaped) {
  std::string name;
  name.reserve(escaped.size());
  for (size_t at = 0; at < escaped.size(); ++at) {
    uint8_t byte = ByteAt(escaped, at);
    if (byte == '%' && escaped.size() - at > 2) {
      const char* hex = escaped.data() + at + 1;
      uint8_t value = 0;
      const auto [stop, error] = std::from_chars(hex, hex + 2, value, 16);
      if (error == std::errc() && stop == hex + 2) {
        byte = value;
        at += 2;
      }
    }
    name += static_cast<char>(byte);
  }
  return name;
}

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
