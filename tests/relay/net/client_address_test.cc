#include "relay/net/client_address.h"

#include <gtest/gtest.h>

#include "relay/net/log_limit.h"
#include "relay/net/server_settings.h"

namespace weir {
namespace {

IpAddress Address(const char* text) { return boost::asio::ip::make_address(text); }

std::string Client(const std::string& trusted, const char* peer, const std::string& forwarded,
                   const std::string& real = "") {
  return TrustedProxies::Parse(trusted).value().Client(Address(peer), forwarded, real).to_string();
}

TEST(TrustedProxiesTest, TakesTheRightmostThatIsNotTrusted) {
  EXPECT_EQ(Client("10.0.0.0/8", "10.0.0.1", "198.51.100.1, 192.0.2.1, 10.0.0.2"), "192.0.2.1");
  EXPECT_EQ(Client("10.0.0.0/8", "10.0.0.1", "192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(Client("10.0.0.0/8", "10.0.0.1", "10.0.0.3,10.0.0.2"), "10.0.0.3") << "all are trusted";
}

TEST(TrustedProxiesTest, BelievesNoStranger) {
  EXPECT_EQ(Client("10.0.0.0/8", "192.0.2.9", "198.51.100.1", "198.51.100.2"), "192.0.2.9");
  EXPECT_EQ(Client("", "127.0.0.1", "198.51.100.1"), "127.0.0.1");
}

TEST(TrustedProxiesTest, ReadsWhatProxiesWrite) {
  EXPECT_EQ(Client("127.0.0.1", "127.0.0.1", "192.0.2.1:4711"), "192.0.2.1");
  EXPECT_EQ(Client("127.0.0.1", "127.0.0.1", "[2001:db8::1]:4711"), "2001:db8::1");
  EXPECT_EQ(Client("127.0.0.1", "127.0.0.1", "[2001:db8::1]"), "2001:db8::1");
  EXPECT_EQ(Client("127.0.0.1", "127.0.0.1", "2001:db8::1"), "2001:db8::1");
  EXPECT_EQ(Client("127.0.0.1", "127.0.0.1", "::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(Client("127.0.0.1", "127.0.0.1", "", "192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(Client("127.0.0.1", "127.0.0.1", "", ""), "127.0.0.1");
  EXPECT_EQ(Client("127.0.0.1", "127.0.0.1", "192.0.2.1, nonsense"), "127.0.0.1");
  EXPECT_EQ(Client("127.0.0.1,10.0.0.1", "127.0.0.1", "nonsense, 10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(Client("::1, fd00::/8", "::1", "192.0.2.1, fd12::1"), "192.0.2.1");
}

TEST(TrustedProxiesTest, ContainsNetworks) {
  const TrustedProxies proxies = TrustedProxies::Parse("192.0.2.128/25, 2001:db8::/33,0.0.0.0/32").value();
  EXPECT_TRUE(proxies.Contains(Address("192.0.2.200")));
  EXPECT_FALSE(proxies.Contains(Address("192.0.2.100")));
  EXPECT_TRUE(proxies.Contains(Address("2001:db8:7fff::1")));
  EXPECT_FALSE(proxies.Contains(Address("2001:db8:8000::1")));
  EXPECT_TRUE(TrustedProxies::Parse("0.0.0.0/0").value().Contains(Address("1.2.3.4")));
  EXPECT_FALSE(TrustedProxies::Parse("0.0.0.0/0").value().Contains(Address("::1")));
}

TEST(TrustedProxiesTest, RefusesWhatIsNoAddress) {
  for (const char* text : {"localhost", "10.0.0.0/33", "10.0.0.0/", "::/129", "10.0.0.0/8/8", "/8"})
    EXPECT_FALSE(TrustedProxies::Parse(text).ok()) << text;
  EXPECT_TRUE(TrustedProxies::Parse(" , ").ok());
}

TEST(AddressSlotsTest, CountsByAddressAndOfIpv6ByNetwork) {
  AddressSlots slots(1);
  EXPECT_TRUE(slots.Take(Address("192.0.2.1")));
  EXPECT_FALSE(slots.Take(Address("192.0.2.1")));
  EXPECT_TRUE(slots.Take(Address("192.0.2.2")));
  slots.Return(Address("192.0.2.1"));
  EXPECT_TRUE(slots.Take(Address("192.0.2.1")));
  EXPECT_TRUE(slots.Take(Address("2001:db8::1")));
  EXPECT_FALSE(slots.Take(Address("2001:db8::2")));
  EXPECT_TRUE(slots.Take(Address("2001:db8:0:1::1")));
}

TEST(GroupTest, IsTheSameWithinWhatOneClientHas) {
  EXPECT_EQ(GroupOf(Address("192.0.2.1")), GroupOf(Address("192.0.2.1")));
  EXPECT_NE(GroupOf(Address("192.0.2.1")), GroupOf(Address("192.0.2.2")));
  EXPECT_EQ(GroupOf(Address("2001:db8::1")), GroupOf(Address("2001:db8::ffff:2")));
  EXPECT_NE(GroupOf(Address("2001:db8::1")), GroupOf(Address("2001:db8:0:1::1")));
  EXPECT_NE(GroupOf(Address("0.0.0.1")), GroupOf(Address("0:0:0:1::")));
}

TEST(ClientNameTest, NamesTheNetworkOfAnIpv6Address) {
  EXPECT_EQ(ClientNameOf("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(ClientNameOf("::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(ClientNameOf("2001:db8:0:1::ffff:2"), "2001:db8:0:1::/64");
  EXPECT_EQ(ClientNameOf("fe80::1%7"), "fe80::/64");
  EXPECT_EQ(ClientNameOf(""), "");
  EXPECT_EQ(ClientNameOf("no:address"), "no:address");
}

TEST(LogLimitTest, CountsWhatItLeavesOut) {
  LogLimit limit;
  const auto start = std::chrono::steady_clock::time_point(std::chrono::hours(1));
  for (int n = 0; n < LogLimit::kLinesPerSecond; ++n) EXPECT_EQ(limit.Take(start)->Suffix(), "");
  for (int n = 0; n < 5; ++n) EXPECT_FALSE(limit.Take(start + std::chrono::milliseconds(999)));
  EXPECT_EQ(limit.Take(start + std::chrono::seconds(1))->Suffix(), " (and 5 more like it)");
  EXPECT_EQ(limit.Take(start + std::chrono::seconds(1))->Suffix(), "");
}

TEST(ServerSettingsTest, AreReadFromTheEnvironment) {
  ServerSettings settings;
  SettingTable table;
  Declare(table, settings);
  ASSERT_TRUE(table.Load({{"WEIR_PORT", "7777"}, {"ORLY_LISTEN", "::1"}, {"WEIR_PING_INTERVAL_MS", "5000"}}).ok());
  EXPECT_EQ(settings.port, 7777U);
  EXPECT_EQ(settings.listen, "::1");
  EXPECT_EQ(settings.ping_interval, std::chrono::seconds(5));
  EXPECT_FALSE(table.Load({{"WEIR_PORT", "70000"}}).ok());
  EXPECT_FALSE(table.Load({{"WEIR_MAX_CONNECTIONS", "0"}}).ok());
}

}  // namespace
}  // namespace weir
