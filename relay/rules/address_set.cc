#include "relay/rules/address_set.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string>
#include <utility>

#include "config/text/parse.h"

namespace weir {
namespace {

constexpr unsigned kBits = 128;
constexpr unsigned kMappedBits = 96;  // ::ffff:0:0/96 has the addresses of IPv4
constexpr size_t kClientBytes = 8;    // a /64 is one client

bool IsMapped(const AddressBytes& address) {
  return std::all_of(address.begin(), address.begin() + 10, [](uint8_t byte) { return byte == 0; }) &&
         address[10] == 0xff && address[11] == 0xff;
}

std::string TextOf(const AddressBytes& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const bool mapped = IsMapped(address);
  inet_ntop(mapped ? AF_INET : AF_INET6, address.data() + (mapped ? kMappedBits / 8 : 0), text, sizeof text);
  return text;
}

// Sets all bits from `bit` on to `value`.
void Fill(unsigned bit, bool value, AddressBytes* address) {
  for (; bit < kBits; ++bit) {
    const auto mask = static_cast<uint8_t>(0x80 >> bit % 8);
    uint8_t& byte = (*address)[bit / 8];
    byte = static_cast<uint8_t>(value ? byte | mask : byte & ~mask);
  }
}

// Returns true if `address` is the one before `next`.
bool IsJustBefore(AddressBytes address, const AddressBytes& next) {
  for (size_t i = address.size(); i-- > 0;)
    if (++address[i] != 0) break;
  return address == next && next != AddressBytes{};
}

}  // namespace

std::optional<AddressBytes> ParseAddressBytes(std::string_view text) {
  const std::string word(text);
  AddressBytes address{};
  const std::string without_zone = word.substr(0, word.find('%'));
  if (inet_pton(AF_INET6, without_zone.c_str(), address.data()) == 1) return address;
  address = {};
  address[10] = address[11] = 0xff;
  if (inet_pton(AF_INET, word.c_str(), address.data() + kMappedBits / 8) == 1) return address;
  return std::nullopt;
}

AddressBytes ClientAddressOf(const AddressBytes& address) {
  AddressBytes client = address;
  if (!IsMapped(address)) std::fill(client.begin() + kClientBytes, client.end(), uint8_t{0});
  return client;
}

Result<AddressRange> ParseNetwork(std::string_view text) {
  const Status wrong = Status::Error("is not an address or network, such as 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32");
  const size_t slash = text.find('/');
  const std::optional<AddressBytes> address = ParseAddressBytes(text.substr(0, slash));
  if (!address) return wrong;
  unsigned bits = kBits;
  if (slash != text.npos) {
    const unsigned before = IsMapped(*address) ? kMappedBits : 0;
    const Result<uint64_t> given =
        ParseUnsigned(text.substr(slash + 1), {.min = 0, .max = static_cast<double>(kBits - before)});
    if (!given.ok()) return wrong;
    bits = before + static_cast<unsigned>(given.value());
  }
  AddressRange range{*address, *address};
  Fill(bits, false, &range.first);
  Fill(bits, true, &range.last);
  if (range.first == *address) return range;
  return Status::Error("has bits beyond its prefix; the network is " + TextOf(range.first) +
                       std::string(text.substr(slash)));
}

Result<std::string> NetworkName(std::string_view text) {
  const Result<AddressRange> range = ParseNetwork(text);
  if (!range.ok()) return range.status();
  std::string name = TextOf(range.value().first);
  if (range.value().first == range.value().last) return name;
  const Result<uint64_t> bits = ParseUnsigned(text.substr(text.find('/') + 1), {.min = 0, .max = kBits});
  return name + "/" + std::to_string(bits.value());
}

AddressSet::AddressSet(std::vector<AddressRange> ranges) {
  std::ranges::sort(ranges, {}, &AddressRange::first);
  for (const AddressRange& range : ranges) {
    if (!ranges_.empty() && (range.first <= ranges_.back().last || IsJustBefore(ranges_.back().last, range.first))) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
}

bool AddressSet::Has(const AddressBytes& address) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &AddressRange::first);
  return after != ranges_.begin() && address <= std::prev(after)->last;
}

}  // namespace weir
