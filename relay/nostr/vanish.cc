#include "relay/nostr/vanish.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace weir {
namespace {

struct RelayAddress {
  std::string host;
  std::string port;  // empty for 443, for 80 and if the address names no port
  std::string path;

  bool operator==(const RelayAddress&) const = default;
};

std::string InLowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::optional<RelayAddress> ParseRelayAddress(std::string_view url) {
  if (const size_t end = url.find("://"); end != std::string_view::npos) {
    const std::string scheme = InLowerCase(url.substr(0, end));
    if (scheme != "wss" && scheme != "ws" && scheme != "https" && scheme != "http") return std::nullopt;
    url.remove_prefix(end + 3);
  }
  const std::string_view authority = url.substr(0, url.find_first_of("/?#"));
  std::string_view path = url.substr(authority.size());
  while (path.ends_with('/')) path.remove_suffix(1);
  // The colons of an IPv6 address are in brackets.
  const size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos) return std::nullopt;
  const size_t colon = std::min(authority.find(':', bracket), authority.size());
  std::string_view host = authority.substr(0, colon);
  std::string_view port = authority.substr(std::min(colon + 1, authority.size()));
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host.empty()) return std::nullopt;
  if (port == "443" || port == "80") port = {};
  return RelayAddress{InLowerCase(host), std::string(port), std::string(path)};
}

}  // namespace

bool IsSameRelay(std::string_view a, std::string_view b) {
  const std::optional<RelayAddress> first = ParseRelayAddress(a);
  return first && first == ParseRelayAddress(b);
}

bool AsksToVanishFrom(EventView request, std::span<const std::string> relays) {
  const std::vector<std::vector<std::string>> tags = TagsNamed(request, "relay");
  return std::ranges::any_of(tags, [relays](const std::vector<std::string>& tag) {
    if (tag.size() < 2) return false;
    return tag[1] == "ALL_RELAYS" ||
           std::ranges::any_of(relays, [&tag](const std::string& own) { return IsSameRelay(tag[1], own); });
  });
}

}  // namespace weir
