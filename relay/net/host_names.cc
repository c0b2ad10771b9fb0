#include "relay/net/host_names.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cctype>
#include <utility>

namespace weir {
namespace {

bool IsLocalhost(std::string_view name) { return name == "localhost" || name.ends_with(".localhost"); }

std::string WithoutBrackets(std::string host) {
  return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

bool IsNearby(std::string_view host) {
  std::string name = HostOf(host);
  if (IsLocalhost(name)) return true;
  name = WithoutBrackets(std::move(name));
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

bool IsLoopback(const std::string& text) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(text, error);
  if (error) return false;
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6()).is_loopback();
  return address.is_loopback();
}

// A private address is not enough, because pages of other machines in the network have such addresses, too.
bool IsLoopbackName(std::string_view host) {
  const std::string name = HostOf(host);
  return IsLocalhost(name) || IsLoopback(WithoutBrackets(name));
}

}  // namespace weir
