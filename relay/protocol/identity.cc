#include "relay/protocol/identity.h"

#include <algorithm>
#include <random>

#include "relay/net/host_names.h"

namespace weir {
namespace {

constexpr uint16_t kAuthKind = 22242;
constexpr uint64_t kMostSecondsApart = 600;

// Returns true if a tag with this name has a value that `good` accepts.
template <typename Good>
bool HasTag(EventView event, std::string_view name, const Good& good) {
  for (const std::vector<std::string>& tag : TagsNamed(event, name))
    if (tag.size() > 1 && good(tag[1])) return true;
  return false;
}

}  // namespace

const std::shared_ptr<const Identity>& Identity::Nobody() {
  static const auto nobody = std::make_shared<const Identity>();
  return nobody;
}

std::shared_ptr<const Identity> Identity::With(const Identity& identity, const PublicKey& key) {
  auto with = std::make_shared<Identity>(identity);
  if (!with->Has(key)) {
    with->keys_.push_back(key);
    with->hex_.push_back(ToHex(key));
  }
  return with;
}

bool Identity::Has(const PublicKey& key) const { return std::find(keys_.begin(), keys_.end(), key) != keys_.end(); }

bool Identity::HasHex(std::string_view hex) const { return std::find(hex_.begin(), hex_.end(), hex) != hex_.end(); }

std::string RefusalOfAuth(EventView event, const AuthExpectation& expected) {
  if (event.kind() != kAuthKind)
    return "invalid: AUTH needs an event of kind 22242, not " + std::to_string(event.kind());
  if (expected.challenge.empty()) return "invalid: this relay has sent no challenge";
  const uint64_t now = expected.now_seconds;
  const uint64_t apart = std::max(event.created_at(), now) - std::min(event.created_at(), now);
  if (apart > kMostSecondsApart) {
    return "invalid: created_at is " + std::to_string(apart) + " s away from now; 10 minutes are allowed";
  }
  if (!HasTag(event, "challenge", [&](const std::string& value) { return value == expected.challenge; })) {
    return "invalid: the challenge tag is not the challenge that this connection was sent";
  }
  if (expected.relay.empty()) {
    return "restricted: the operator of this relay has not set its address (WEIR_RELAY_URL), so AUTH cannot be checked";
  }
  const std::string host = HostOf(expected.relay);
  if (!HasTag(event, "relay", [&](const std::string& value) { return HostOf(value) == host; })) {
    return "invalid: the relay tag must name this relay, " + host;
  }
  return "";
}

std::string MakeChallenge() {
  std::random_device device;
  std::array<uint32_t, 4> bits{};
  for (uint32_t& word : bits) word = device();
  return ToHex(reinterpret_cast<const uint8_t*>(bits.data()), sizeof(bits));
}

}  // namespace weir
