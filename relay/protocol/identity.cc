#include "relay/protocol/identity.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cctype>
#include <random>

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

bool IsNearby(std::string_view host) {
  std::string name = HostOf(host);
  if (name == "localhost" || name.ends_with(".localhost")) return true;
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(name, error);
  if (error) return false;
  if (address.is_loopback()) return true;
  if (address.is_v6()) {
    const auto bytes = address.to_v6().to_bytes();
    return (bytes[0] & 0xfe) == 0xfc || address.to_v6().is_link_local();
  }
  const uint32_t v4 = address.to_v4().to_uint();
  return v4 >> 24 == 10 || v4 >> 20 == 0xac1 || v4 >> 16 == 0xc0a8 || v4 >> 16 == 0xa9fe;
}

std::string HostOf(std::string_view url) {
  if (const size_t scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (const size_t user = url.rfind('@'); user != std::string_view::npos) url.remove_prefix(user + 1);
  // The colons of an IPv6 address are in brackets.
  const size_t port = url.find(':', url.starts_with('[') ? std::min(url.find(']'), url.size()) : 0);
  std::string host(url.substr(0, port));
  if (host.ends_with('.')) host.pop_back();
  for (char& c : host) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return host;
}

std::string HostAndPort(std::string host, uint16_t port) {
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "::" || host == "[::]") host = "[::1]";
  if (host.find(':') != std::string::npos && host.front() != '[') host = "[" + host + "]";
  return host + ":" + std::to_string(port);
}

}  // namespace weir
