#include "config/text/url.h"

#include <gtest/gtest.h>

#include "config/text/percent.h"

namespace weir {
namespace {

std::string Shown(const UrlParts& parts) {
  const std::string user = parts.user ? "<" + std::string(*parts.user) + ">" : "";
  return std::string(parts.scheme) + " " + user + std::string(parts.servers) + " " + std::string(parts.path);
}

TEST(Url, IsSplitIntoItsParts) {
  EXPECT_EQ(Shown(SplitUrl("https://a:1/b/c?d").value()), "https a:1 /b/c?d");
  EXPECT_EQ(Shown(SplitUrl("ws://a?d@e").value()), "ws a ?d@e");
  EXPECT_EQ(Shown(SplitUrl("x://u:p@q@a,[::1]:2").value()), "x <u:p@q>a,[::1]:2 ");
  EXPECT_EQ(Shown(SplitUrl("x://:p?q#r@a/b", "/").value()), "x <:p?q#r>a /b");
  EXPECT_EQ(Shown(SplitUrl("://").value()), "  ");
  EXPECT_FALSE(SplitUrl("a:1/b"));
}

TEST(Url, AServerIsAHostAndPerhapsAPort) {
  const auto shown = [](std::string_view text) {
    const auto server = SplitServer(text);
    return server ? std::string(server->host) + "|" + std::string(server->port.value_or("none")) : "bad";
  };
  EXPECT_EQ(shown("a.b:80"), "a.b|80");
  EXPECT_EQ(shown("a"), "a|none");
  EXPECT_EQ(shown("a:"), "a|");
  EXPECT_EQ(shown(":80"), "|80");
  EXPECT_EQ(shown(""), "|none");
  EXPECT_EQ(shown("[::1]"), "::1|none");
  EXPECT_EQ(shown("[fe80::1%2]:80"), "fe80::1%2|80");
  for (const char* bad : {"::1", "a:1:2", "[::1", "[::1]80", "[::1]:8:0", "[a.example]", "["})
    EXPECT_EQ(shown(bad), "bad") << bad;
}

TEST(Url, AnIpv6AddressStandsInBrackets) {
  EXPECT_EQ(UrlHost("::1"), "[::1]");
  EXPECT_EQ(UrlHost("127.0.0.1"), "127.0.0.1");
}

TEST(Url, ParsesTheUrlOfAServerPartByPart) {
  struct Case {
    std::string text, host, port, path, origin;
    bool loopback;
  };
  for (const Case& c : {Case{"http://127.0.0.1:3335", "127.0.0.1", "3335", "", "http://127.0.0.1:3335", true},
                        Case{"https://a.example", "a.example", "443", "", "https://a.example", false},
                        Case{"https://a.example/v1/", "a.example", "443", "/v1", "https://a.example", false},
                        Case{"http://[::1]:80/x/y", "::1", "80", "/x/y", "http://[::1]", true},
                        Case{"http://localhost:81", "localhost", "81", "", "http://localhost:81", true}}) {
    const Result<ServerUrl> url = ParseServerUrl(c.text);
    ASSERT_TRUE(url.ok()) << c.text;
    EXPECT_EQ(url.value().host, c.host);
    EXPECT_EQ(url.value().port, c.port);
    EXPECT_EQ(url.value().path, c.path);
    EXPECT_EQ(url.value().Origin(), c.origin);
    EXPECT_EQ(url.value().is_loopback(), c.loopback) << c.text;
  }
  for (const char* bad :
       {"", "a", "ftp://a", "https://", "http://:80", "https://a:0/", "https://a:x", "https://u@a/", "https://a/?key=1",
        "https://a/#b", "https://[::1/", "https://[::1]x", "https://a b/", "http://a\\b"})
    EXPECT_FALSE(ParseServerUrl(bad).ok()) << bad;
}

TEST(Url, AQueryIsTakenParameterByParameter) {
  std::string_view query = "&a=1&&b&c=&=d&e=f=g&";
  std::string seen;
  while (const auto parameter = TakeParameter(&query))
    seen += std::string(parameter->name) + "=" + std::string(parameter->value.value_or("none")) + ";";
  EXPECT_EQ(seen, "a=1;b=none;c=;=d;e=f=g;");
}

TEST(Percent, DecodingReversesEncoding) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  const std::string encoded = EncodePercent(every);
  EXPECT_EQ(DecodePercent(encoded, true), every);
  EXPECT_EQ(DecodePercent(encoded), std::nullopt);
  EXPECT_EQ(EncodePercent("a/b c~d.e_f-G9\xff"), "a%2Fb%20c~d.e_f-G9%FF");
}

TEST(Url, AQueryIsReadWholeAndDecoded) {
  const auto pairs = ParseQuery("a=1&b=%C3%A9+x&&c&a=2%26");
  ASSERT_TRUE(pairs.ok());
  const std::vector<std::pair<std::string, std::string>> expected = {{"a", "1"}, {"b", "é x"}, {"c", ""}, {"a", "2&"}};
  EXPECT_EQ(pairs.value(), expected);
  EXPECT_TRUE(ParseQuery("").value().empty());
  for (const char* bad : {"a=%", "a=%4", "%zz=1"}) EXPECT_FALSE(ParseQuery(bad).ok()) << bad;
}

}  // namespace
}  // namespace weir
