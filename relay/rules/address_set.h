// AddressSet: a set of IP addresses and networks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"

namespace weir {

// An address of IPv6, or an address of IPv4 as ::ffff:a.b.c.d, in the order of the network.
using AddressBytes = std::array<uint8_t, 16>;

// Returns nullopt if the text is no address. The zone of a link-local address (fe80::1%eth0) is left out.
std::optional<AddressBytes> ParseAddressBytes(std::string_view text);
// Returns the address that stands for one client: of IPv6 the /64, because a provider gives each customer at least one.
AddressBytes ClientAddressOf(const AddressBytes& address);

// The addresses from `first` to `last`, both included.
struct AddressRange {
  AddressBytes first{};
  AddressBytes last{};
};
// Reads an address, or a network such as 10.0.0.0/8. The error completes a sentence that begins with the text.
Result<AddressRange> ParseNetwork(std::string_view text);
// Returns the one text of all that mean the same address or network. The error is that of ParseNetwork.
Result<std::string> NetworkName(std::string_view text);

// The set never changes after its construction, so any thread may use it. A look-up takes logarithmic time.
class AddressSet {
 public:
  AddressSet() = default;
  // The ranges may overlap.
  explicit AddressSet(std::vector<AddressRange> ranges);

  bool Has(const AddressBytes& address) const;
  bool empty() const { return ranges_.empty(); }
  // Returns the number of ranges that are left when overlapping and adjacent ones are joined.
  size_t size() const { return ranges_.size(); }

 private:
  std::vector<AddressRange> ranges_;  // sorted, and disjoint
};

}  // namespace weir
