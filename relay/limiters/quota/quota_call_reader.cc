#include "relay/limiters/quota/quota_call_reader.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "config/text/json_scanner.h"
#include "config/text/json_unescape.h"
#include "config/text/parse.h"

namespace weir {
namespace {

using Call = QuotaRoute::Call;

constexpr unsigned Calls(std::initializer_list<Call> calls) {
  unsigned bits = 0;
  for (const Call call : calls) bits |= 1u << static_cast<unsigned>(call);
  return bits;
}

constexpr unsigned kRequesters = Calls({Call::kDecide, Call::kReserve, Call::kRecord, Call::kExplain});
constexpr unsigned kCosts = Calls({Call::kCommit, Call::kRecord});
constexpr unsigned kSettlements = Calls({Call::kCommit, Call::kRefund, Call::kExtend});
constexpr unsigned kQuotas = Calls({Call::kSetQuota});

using Body = QuotaCallBody;

constexpr std::array<QuotaKey, 17> kKeys = {{
    {"model", &Body::model, kRequesters},
    {"user", &Body::user, kRequesters, 0, 0, false, true},
    {"tenant", &Body::tenant, kRequesters, 0, 0, false, true},
    {"api_key", &Body::api_key, kRequesters, 0, 0, false, true},
    {"instance", &Body::instance, kRequesters, 0, 0, false, true},
    {"qos", &Body::qos, kRequesters, 0, 0, false, true},
    {"reservation", &Body::reservation, kSettlements},
    {"tokens", &Body::tokens, kRequesters | kCosts, 0, kMostAmount, true},
    {"prompt_tokens", &Body::prompt_tokens, kRequesters | kCosts, 0, kMostAmount, true},
    {"output_tokens", &Body::output_tokens, kRequesters | kCosts, 0, kMostAmount, true},
    {"ttl_seconds", &Body::ttl_seconds, Calls({Call::kReserve, Call::kExtend, Call::kCommit}), 1,
     kMaxReservationTtl / std::chrono::seconds(1)},
    {"charge", &Body::charge, Calls({Call::kDecide})},
    {"partial", &Body::partial, Calls({Call::kCommit})},
    {"idempotency_key", &Body::idempotency_key, Calls({Call::kDecide, Call::kReserve, Call::kRecord}), 0, 0, false,
     true},
    {"max_rpm", &Body::max_rpm, kQuotas},
    {"max_tpm", &Body::max_tpm, kQuotas},
    {"max_rpd", &Body::max_rpd, kQuotas},
}};

std::vector<std::string_view> NamesOf(unsigned call) {
  std::vector<std::string_view> names;
  for (const QuotaKey& key : kKeys)
    if ((key.calls & call) != 0) names.push_back(key.name);
  return names;
}

constexpr std::string_view kExpectedText = "a string that is not empty";
std::string ExpectedWhole(const QuotaKey& key) {
  return "a whole number within " + std::to_string(key.min) + ".." + std::to_string(key.max);
}
bool IsWithin(const QuotaKey& key, auto value) {
  return std::cmp_greater_equal(value, key.min) && std::cmp_less_equal(value, key.max);
}

// Returns which member is missing or contradicts another; nullopt if there is no such mistake.
std::optional<std::string> WhyIncomplete(unsigned call, const Body& body) {
  if ((call & kRequesters) != 0 && !body.model) return "model: missing, expected the model's name";
  if ((call & kSettlements) != 0 && !body.reservation) return "reservation: missing, expected what reserve answered";
  const bool parts = body.prompt_tokens || body.output_tokens;
  if ((call & kCosts) != 0 && !parts && !body.tokens)
    return "tokens: missing, expected tokens, or prompt_tokens and output_tokens";
  if (parts && body.tokens) return "tokens: found with prompt_tokens or output_tokens, expected one or the other";
  if (body.ttl_seconds && (call & Calls({Call::kCommit})) != 0 && !body.partial.value_or(false))
    return "ttl_seconds: found in a commit that ends the reservation, expected it with partial: true";
  if ((call & kQuotas) == 0) return std::nullopt;
  for (const QuotaKey& key : kKeys) {
    const QuotaKey::Whole* const limit = std::get_if<QuotaKey::Whole>(&key.member);
    if (key.calls == kQuotas && limit != nullptr && !(body.**limit))
      return std::string(key.name) + ": missing, expected max_rpm, max_tpm and max_rpd; say 0 for no limit";
  }
  return std::nullopt;
}

class CallReader {
 public:
  CallReader(Call call, std::string_view text, Body* body) : call_(Calls({call})), in_(text), body_(*body) {}

  bool Read() {
    if (in_.Peek() != '{') return Fail("the body must be a JSON object, not " + in_.Found());
    in_.Take('{');
    bool first = true;
    while (true) {
      const JsonScanner::Step step = in_.NextItem('}', &first);
      if (step == JsonScanner::Step::kError) return Fail(in_.error());
      if (step == JsonScanner::Step::kEnd) break;
      if (!ReadMember()) return false;
    }
    if (!in_.AtEnd()) return Fail("the body must end behind its object, not go on with " + in_.Found());
    const auto problem = WhyIncomplete(call_, body_);
    return !problem || Fail(*problem);
  }
  ApiError& error() { return error_; }

 private:
  bool Fail(std::string message) {
    error_.message = std::move(message);
    return false;
  }
  // Fails because of the value before which the scanner stands. `expected` says what the value should have been.
  bool Refuse(const QuotaKey& key, std::string_view expected) {
    const std::string found = in_.Found();
    if (!in_.SkipValue()) return Fail(std::string(key.name) + ": " + in_.error());
    if (key.of_tokens && found.starts_with('-')) error_.code = NameOf(QuotaCode::kInvalidTokens);
    return Fail(std::string(key.name) + ": found " + found + ", expected " + std::string(expected));
  }

  bool ReadMember() {
    JsonString raw;
    if (!in_.ReadName(&raw)) return Fail(in_.error());
    std::string name;
    AppendUnescaped(raw.raw, &name);
    const auto key = std::ranges::find_if(
        kKeys, [this, &name](const QuotaKey& known) { return known.name == name && (known.calls & call_) != 0; });
    if (key == kKeys.end()) return Fail(Unknown(name));
    return std::visit([this, &key](auto member) { return ReadValue(*key, body_.*member); }, key->member);
  }
  std::string Unknown(const std::string& name) const {
    const std::vector<std::string_view> names = NamesOf(call_);
    const std::string_view nearest = NearestName(name, names);
    std::string message = Shown(name) + ": there is no such key here";
    if (!nearest.empty()) return message + "; did you mean " + std::string(nearest) + "?";
    return message + "; there are " + Join({names.begin(), names.end()}, ", ");
  }

  template <typename Value>
  bool ReadValue(const QuotaKey& key, std::optional<Value>& value) {
    if (value) return Fail(std::string(key.name) + ": found twice, expected once");
    if (key.may_be_null && in_.Peek() == 'n' && in_.Found() == "null") return in_.SkipValue();
    return ReadOnce(key, value.emplace());
  }
  bool ReadOnce(const QuotaKey& key, std::string& value) {
    std::string expected(kExpectedText);
    if (key.may_be_null) expected += "; where there is none, null or no key";
    if (in_.Peek() != '"') return Refuse(key, expected);
    const char* const begin = in_.at();
    JsonString string;
    if (!in_.ReadString(&string)) return Fail(std::string(key.name) + ": the string " + in_.error());
    AppendUnescaped(string.raw, &value);
    if (!value.empty()) return true;
    in_.BackTo(begin);
    return Refuse(key, expected);
  }
  bool ReadOnce(const QuotaKey& key, int64_t& value) {
    in_.Peek();
    const char* const begin = in_.at();
    uint64_t whole = 0;
    const bool good = in_.ReadWhole(&whole) && IsWithin(key, whole);
    value = static_cast<int64_t>(whole);
    if (good) return true;
    in_.BackTo(begin);
    return Refuse(key, ExpectedWhole(key));
  }
  bool ReadOnce(const QuotaKey& key, bool& value) {
    value = in_.Peek() == 't';
    const std::string found = in_.Found();
    if (found != "true" && found != "false") return Refuse(key, "true or false");
    return in_.SkipValue();
  }

  const unsigned call_;
  JsonScanner in_;
  Body& body_;
  ApiError error_;
};

}  // namespace

const QuotaKey& KeyOf(QuotaKey::Member member) { return *std::ranges::find(kKeys, member, &QuotaKey::member); }

std::optional<ApiError> ReadQuotaCall(Call call, std::string_view text, QuotaCallBody* body) {
  if (text.size() > kMaxCallBytes) {
    return ApiError{.code = kBodyTooLong,
                    .message = "the body has " + std::to_string(text.size()) + " bytes, expected at most " +
                               std::to_string(kMaxCallBytes)};
  }
  if (!simdjson::validate_utf8(text)) return ApiError{.message = "the body must be UTF-8"};
  CallReader reader(call, text, body);
  if (reader.Read()) return std::nullopt;
  return std::move(reader.error());
}

std::optional<ApiError> CheckQuotaCall(Call call, const QuotaCallBody& body) {
  for (const QuotaKey& key : kKeys) {
    const auto* const whole = std::get_if<QuotaKey::Whole>(&key.member);
    const auto* const text = std::get_if<QuotaKey::Text>(&key.member);
    if (whole != nullptr && body.**whole && !IsWithin(key, *(body.**whole))) {
      ApiError error{.message = std::string(key.name) + ": found " + std::to_string(*(body.**whole)) + ", expected " +
                                ExpectedWhole(key)};
      if (key.of_tokens && *(body.**whole) < 0) error.code = NameOf(QuotaCode::kInvalidTokens);
      return error;
    }
    if (text != nullptr && body.**text && (body.**text)->empty())
      return ApiError{.message =
                          std::string(key.name) + ": found an empty string, expected " + std::string(kExpectedText)};
  }
  if (auto problem = WhyIncomplete(Calls({call}), body)) return ApiError{.message = *std::move(problem)};
  return std::nullopt;
}

}  // namespace weir
