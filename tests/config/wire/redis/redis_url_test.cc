#include "config/wire/redis/redis_url.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace weir {
namespace {

using Kind = RedisEndpoint::Kind;

RedisEndpoint MustParse(std::string_view url) {
  Result<RedisEndpoint> endpoint = ParseRedisUrl(url);
  EXPECT_TRUE(endpoint.ok()) << url << ": " << endpoint.status().message();
  return endpoint.ok() ? std::move(endpoint).value() : RedisEndpoint{};
}

void ExpectSame(const RedisEndpoint& a, const RedisEndpoint& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.addresses, b.addresses);
  EXPECT_EQ(a.master, b.master);
  EXPECT_EQ(a.user, b.user);
  EXPECT_EQ(a.password, b.password);
  EXPECT_EQ(a.database, b.database);
  EXPECT_EQ(a.tls, b.tls);
}

TEST(RedisUrl, SaysWhereTheServersAre) {
  const std::vector<std::pair<std::string, RedisEndpoint>> cases = {
      {"redis://localhost", {.addresses = {{.host = "localhost", .port = 6379}}}},
      {"redis://localhost/", {.addresses = {{.host = "localhost", .port = 6379}}}},
      {"redis://10.0.0.1:7000/3", {.addresses = {{.host = "10.0.0.1", .port = 7000}}, .database = 3}},
      {"rediss://[::1]:7000", {.addresses = {{.host = "::1", .port = 7000}}, .tls = true}},
      {"redis://[fe80::1]", {.addresses = {{.host = "fe80::1", .port = 6379}}}},
      {"redis://a:1,b", {.addresses = {{.host = "a", .port = 1}, {.host = "b", .port = 6379}}}},
      {"redis://:secret@a", {.addresses = {{.host = "a"}}, .password = "secret"}},
      {"redis://bob:se:c@ret@a", {.addresses = {{.host = "a"}}, .user = "bob", .password = "se:c@ret"}},
      {"redis://b%3ab:%2F%40%25@a", {.addresses = {{.host = "a"}}, .user = "b:b", .password = "/@%"}},
      {"redis-sentinel://s1,s2:7/main",
       {.kind = Kind::kSentinel,
        .addresses = {{.host = "s1", .port = 26379}, {.host = "s2", .port = 7}},
        .master = "main"}},
      {"rediss-sentinel://:x@s1/the%20one/2",
       {.kind = Kind::kSentinel,
        .addresses = {{.host = "s1", .port = 26379}},
        .master = "the one",
        .password = "x",
        .database = 2,
        .tls = true}},
      {"redis-cluster://a:1,b:2/",
       {.kind = Kind::kCluster, .addresses = {{.host = "a", .port = 1}, {.host = "b", .port = 2}}}},
      {"rediss-cluster://a", {.kind = Kind::kCluster, .addresses = {{.host = "a"}}, .tls = true}},
  };
  for (const auto& [url, expected] : cases) {
    SCOPED_TRACE(url);
    ExpectSame(MustParse(url), expected);
  }
}

TEST(RedisUrl, IsRefusedWithItsMistake) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "redis-cluster://"},
      {"localhost:6379", "redis://"},
      {"http://localhost", "rediss-sentinel://"},
      {"redis://", "a host is missing"},
      {"redis://:7000", "a host is missing"},
      {"redis://a,", "after the last ','"},
      {"redis://a,,b", "a host is missing"},
      {"redis://a:", "server 1: the port is not a whole number within 1..65535"},
      {"redis://a:0", "the port is not within 1..65535"},
      {"redis://a:65536", "the port is not within 1..65535"},
      {"redis://a,a:b", "server 2: the port is not a whole number"},
      {"redis://::1", "brackets"},
      {"redis://[::1", "brackets"},
      {"redis://[::1]7", "brackets"},
      {"redis://a b", "is not HOST:PORT"},
      {"redis://a\n", "is not HOST:PORT"},
      {"redis://a?db=1", "is not HOST:PORT"},
      {"redis://a/x", "the database is not a whole number"},
      {"redis://a/-1", "the database is not within"},
      {"redis://a/1/2", "the database is not a whole number"},
      {"redis://bob@a", "no password"},
      {"redis://bob:@a", "no password"},
      {"redis://@a", "no password"},
      {"redis://:%4@a", "%25"},
      {"redis://:%zz@a", "%25"},
      {"redis-sentinel://a:1", "the name of the master is missing"},
      {"redis-sentinel://a:1/", "the name of the master is missing"},
      {"redis-sentinel://a:1//0", "the name of the master is missing"},
      {"redis-sentinel://a:1/main/x", "the database is not a whole number"},
      {"redis-cluster://a:1/0", "no numbered databases"},
  };
  for (const auto& [url, part] : cases) {
    const Result<RedisEndpoint> endpoint = ParseRedisUrl(url);
    ASSERT_FALSE(endpoint.ok()) << url;
    EXPECT_NE(endpoint.status().message().find(part), std::string::npos) << url << ": " << endpoint.status().message();
  }
}

TEST(RedisUrl, ErrorsDoNotShowThePassword) {
  for (const char* scheme : {"redis", "redis-sentinel", "redis-cluster", "rediss"}) {
    for (const char* wrong :
         {"bob:hunter2@a:x/m", "bob:hunter2@/m", "bob:hunter2@a:1,/m", "bob:hunt/er2hunter2@a",
          "bob:hunter2/hunter2@a:1/m", ":hunter2%@a/m", "hunter2@a/m", "bob:hunter2@a/m/x", ":hunter2", "bob:hunter2",
          "bob:hunter2/m", "a,bob:hunter2", "hunter2%40a", "[hunter2", "bob:1/hunter2"}) {
      const Result<RedisEndpoint> endpoint = ParseRedisUrl(std::string(scheme).append("://").append(wrong));
      if (endpoint.ok()) continue;
      EXPECT_EQ(endpoint.status().message().find("hunter2"), std::string::npos) << endpoint.status().message();
    }
  }
  const RedisEndpoint endpoint = MustParse("redis://bob:hunter2@a/1");
  EXPECT_EQ(Describe(endpoint), "redis://a:6379/1");
}

rc::Gen<std::string> AnyHost() {
  return rc::gen::oneOf(
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::element('a', 'z', '0', '-', '.', '_'))),
      rc::gen::element<std::string>("::1", "fe80::1%2", "2001:db8::7"));
}

std::string EscapeAll(const std::string& text) {
  std::string out;
  for (const char c : text) {
    char escaped[4];
    std::snprintf(escaped, sizeof escaped, "%%%02x", static_cast<unsigned char>(c));
    out += escaped;
  }
  return out;
}

RC_GTEST_PROP(RedisUrl, IsReadAsItWasDescribed, ()) {
  RedisEndpoint endpoint;
  endpoint.kind = *rc::gen::element(Kind::kStandalone, Kind::kSentinel, Kind::kCluster);
  endpoint.tls = *rc::gen::arbitrary<bool>();
  const size_t addresses = *rc::gen::inRange<size_t>(1, 5);
  for (size_t i = 0; i < addresses; ++i) {
    endpoint.addresses.push_back({.host = *AnyHost(), .port = static_cast<uint16_t>(*rc::gen::inRange<int>(1, 65536))});
  }
  if (endpoint.kind == Kind::kSentinel) endpoint.master = *rc::gen::nonEmpty<std::string>();
  if (endpoint.kind != Kind::kCluster) endpoint.database = *rc::gen::inRange(0, 65536);
  std::string url = Describe(endpoint);
  if (*rc::gen::arbitrary<bool>()) {
    endpoint.user = *rc::gen::arbitrary<std::string>();
    endpoint.password = *rc::gen::nonEmpty<std::string>();
    url.insert(url.find("://") + 3, EscapeAll(endpoint.user) + ":" + EscapeAll(endpoint.password) + "@");
  }
  ExpectSame(MustParse(url), endpoint);
  RC_ASSERT(Describe(MustParse(url)).find('@') == std::string::npos);
}

RC_GTEST_PROP(RedisUrl, AnyTextIsReadOrRefused, ()) {
  const std::string text = *rc::gen::container<std::string>(
      rc::gen::element('[', ']', ':', '/', ',', '@', '%', '4', 'a', '\0', '\n', ' ', '\xff'));
  const std::string scheme = *rc::gen::element<std::string>("redis", "redis-sentinel", "redis-cluster");
  const Result<RedisEndpoint> endpoint = ParseRedisUrl(scheme + "://" + text);
  if (endpoint.ok())
    ExpectSame(MustParse(Describe(endpoint.value())), [&] {
      RedisEndpoint without = endpoint.value();
      without.user.clear();
      without.password.clear();
      return without;
    }());
}

}  // namespace
}  // namespace weir
