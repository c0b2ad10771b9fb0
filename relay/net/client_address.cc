#include "relay/net/client_address.h"

#include <algorithm>
#include <boost/asio/ip/address_v6.hpp>
#include <cstring>
#include <optional>
#include <random>

#include "config/text/parse.h"

namespace weir {
namespace {

std::optional<IpAddress> ParseAddress(std::string_view text) {
  boost::system::error_code error;
  const IpAddress address = boost::asio::ip::make_address(std::string(text), error);
  if (error) return std::nullopt;
  return Unmapped(address);
}

// Parses an address as proxies write it: 1.2.3.4, 1.2.3.4:567, ::1, [::1] or [::1]:567.
std::optional<IpAddress> ParseForwarded(std::string_view text) {
  text = TrimBlanks(text);
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    return end == text.npos ? std::nullopt : ParseAddress(text.substr(1, end - 1));
  }
  if (std::count(text.begin(), text.end(), ':') == 1) text = text.substr(0, text.find(':'));
  return ParseAddress(text);
}

std::vector<uint8_t> Bytes(const IpAddress& address) {
  if (address.is_v4()) {
    const auto bytes = address.to_v4().to_bytes();
    return {bytes.begin(), bytes.end()};
  }
  const auto bytes = address.to_v6().to_bytes();
  return {bytes.begin(), bytes.end()};
}

bool SamePrefix(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, unsigned prefix) {
  if (a.size() != b.size()) return false;
  const size_t whole = prefix / 8;
  if (std::memcmp(a.data(), b.data(), whole) != 0) return false;
  const unsigned rest = prefix % 8;
  return rest == 0 || (a[whole] >> (8 - rest)) == (b[whole] >> (8 - rest));
}

// Returns a hash of `x`, by the last steps of SplitMix64.
uint64_t Mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

uint64_t Seed() {
  static const uint64_t seed = [] {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }();
  return seed;
}

Status NotANetwork(std::string_view text) {
  return Status::Error("WEIR_TRUSTED_PROXIES: " + Printable(text) +
                       " is not an address; list addresses or networks, as in 127.0.0.1, 10.0.0.0/8");
}

}  // namespace

IpAddress Unmapped(const IpAddress& address) {
  namespace ip = boost::asio::ip;
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return ip::make_address_v4(ip::v4_mapped, address.to_v6());
}

ClientNetwork NetworkOf(const IpAddress& address, unsigned ipv6_bits) {
  if (address.is_v4()) return {.prefix = address.to_v4().to_uint(), .bits = 32};
  uint64_t prefix = 0;
  const auto bytes = address.to_v6().to_bytes();
  for (size_t n = 0; n < 8; ++n) prefix = prefix << 8 | bytes[n];
  return {.prefix = prefix & ~uint64_t{0} << (64 - ipv6_bits), .bits = ipv6_bits};
}

std::string ClientNetwork::Name() const {
  namespace ip = boost::asio::ip;
  if (bits == 32) return ip::make_address_v4(static_cast<uint32_t>(prefix)).to_string();
  ip::address_v6::bytes_type address{};
  for (size_t n = 0; n < 8; ++n) address[n] = static_cast<uint8_t>(prefix >> (56 - 8 * n));
  return ip::make_address_v6(address).to_string() + "/" + std::to_string(bits);
}

size_t ClientNetworkHash::operator()(const ClientNetwork& network) const {
  return Mix(Mix(network.prefix ^ Seed()) + network.bits);
}

uint64_t GroupOf(const IpAddress& address) { return ClientNetworkHash()(NetworkOf(address)); }

uint64_t GroupOf(std::string_view address) { return GroupOf(ParseAddress(address).value_or(IpAddress())); }

std::string ClientNameOf(std::string_view address) {
  if (address.find(':') == address.npos) return std::string(address);  // IPv4, which needs no parsing
  const std::optional<IpAddress> parsed = ParseAddress(address);
  return parsed ? NetworkOf(*parsed).Name() : std::string(address);
}

Result<TrustedProxies> TrustedProxies::Parse(std::string_view text) {
  TrustedProxies proxies;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view word = TrimBlanks(text.substr(0, comma));
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
    if (word.empty()) continue;
    const size_t slash = word.find('/');
    const auto address = ParseAddress(word.substr(0, slash));
    if (!address) return NotANetwork(word);
    const unsigned longest = address->is_v4() ? 32 : 128;
    Network network{*address, longest};
    if (slash != word.npos) {
      const auto prefix = ParseUnsigned(word.substr(slash + 1), {.min = 0, .max = static_cast<double>(longest)});
      if (!prefix.ok()) return NotANetwork(word);
      network.prefix = static_cast<unsigned>(prefix.value());
    }
    proxies.networks_.push_back(network);
  }
  return proxies;
}

bool TrustedProxies::Contains(const IpAddress& address) const {
  if (networks_.empty()) return false;
  const std::vector<uint8_t> bytes = Bytes(address);
  return std::any_of(networks_.begin(), networks_.end(),
                     [&](const Network& n) { return SamePrefix(bytes, Bytes(n.address), n.prefix); });
}

IpAddress TrustedProxies::Client(const IpAddress& peer, std::string_view forwarded_for,
                                 std::string_view real_ip) const {
  if (!Contains(peer)) return peer;
  IpAddress client = peer;
  if (TrimBlanks(forwarded_for).empty()) return ParseForwarded(real_ip).value_or(peer);
  while (!forwarded_for.empty()) {
    const size_t comma = forwarded_for.rfind(',');
    const auto address = ParseForwarded(comma == forwarded_for.npos ? forwarded_for : forwarded_for.substr(comma + 1));
    if (!address) break;
    client = *address;
    if (!Contains(client) || comma == forwarded_for.npos) break;
    forwarded_for = forwarded_for.substr(0, comma);
  }
  return client;
}

bool AddressSlots::Take(const IpAddress& address) {
  const MutexLock lock(mutex_);
  uint64_t& taken = taken_[NetworkOf(address)];
  if (taken >= most_) return false;
  ++taken;
  return true;
}

void AddressSlots::Return(const IpAddress& address) {
  const MutexLock lock(mutex_);
  const auto found = taken_.find(NetworkOf(address));
  if (found != taken_.end() && --found->second == 0) taken_.erase(found);
}

}  // namespace weir
