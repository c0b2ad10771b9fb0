#include "config/wire/mysql/mysql_url.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

std::string TextOf(const MysqlAddress& a) {
  return a.host + " " + std::to_string(a.port) + " " + a.user + " " + a.password + " " + a.database + " " + a.ca_file;
}

TEST(MysqlUrl, SaysWhereTheServerIsAndWhoAsks) {
  struct Case {
    const char* url;
    const char* read;
  };
  for (const Case& c : {
           Case{"mysql://db1", "db1 3306    "},
           Case{"mysql://db1/", "db1 3306    "},
           Case{"mysql://weir@db1:3307/notes", "db1 3307 weir  notes "},
           Case{"mysql://weir:p%40s%2Fs@[::1]/no%20tes", "::1 3306 weir p@s/s no tes "},
           Case{"mysql://weir:a:b@db1", "db1 3306 weir a:b  "},
           Case{"mysql://weir:@db1", "db1 3306 weir   "},
           Case{"mysql://db1/notes?ssl-ca=/etc/a%20ca.crt", "db1 3306   notes /etc/a ca.crt"},
           Case{"mysql://db1?ssl-ca=ca.crt", "db1 3306    ca.crt"},
       }) {
    const Result<MysqlAddress> address = ParseMysqlUrl(c.url);
    ASSERT_TRUE(address.ok()) << c.url;
    EXPECT_EQ(TextOf(address.value()), c.read) << c.url;
  }
}

TEST(MysqlUrl, RefusesAnythingElseAndNeverShowsIt) {
  for (const char* url : {"", "db1", "postgres://db1", "mysql://", "mysql://weir:SECRET@", "mysql://weir:SECRET@:3306",
                          "mysql://weir:SECRET@db1:0", "mysql://weir:SECRET@db1:65536", "mysql://weir:SECRET@db1:x",
                          "mysql://weir:SEC%RET@db1", "mysql://weir:SEC/RET@db1", "mysql://weir:SEC?RET@db1",
                          "mysql://weir:SEC#RET@db1", "mysql://weir:SECRET@db 1", "mysql://weir:SECRET@db1,db2",
                          "mysql://weir:SECRET@db1/x?ssl-ca=", "mysql://weir:SECRET@db1/x?timeout=3",
                          "mysql://weir:SECRET@db1/x%00y", "mysql://[::1"}) {
    const Result<MysqlAddress> address = ParseMysqlUrl(url);
    ASSERT_FALSE(address.ok()) << url;
    EXPECT_EQ(address.status().message().find("SEC"), std::string::npos) << url;
  }
}

}  // namespace
}  // namespace weir
