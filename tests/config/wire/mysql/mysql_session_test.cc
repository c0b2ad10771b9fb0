// MysqlSession against a real server.
#include "config/wire/mysql/mysql_session.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>
#include <string>

#include "tests/fixtures/certificates.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/mariadb_process.h"
#include "tests/fixtures/silent_port.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{20};

class MysqlSessionTest : public testing::Test {
 protected:
  // One server for all tests of a program, because starting one takes a second.
  static void SetUpTestSuite() {
    if (!MariadbProcess::IsInstalled()) return;
    Certificates() = std::make_unique<TempDirectory>();
    MakeCertificates(Certificates()->path());
    const std::string file = "=" + Certificates()->path() + "/server.";
    Shared() = std::make_unique<MariadbProcess>(
        std::vector<std::string>{"--ssl-cert" + file + "crt", "--ssl-key" + file + "key"});
  }
  static void TearDownTestSuite() { Shared().reset(); }
  void SetUp() override {
    if (!Shared()) GTEST_SKIP() << "no MyRocks is installed";
  }

  static MariadbProcess& server() { return *Shared(); }
  static std::string ca_file() { return Certificates()->path() + "/ca.crt"; }
  static Status TryToConnect(const MysqlAddress& address) { return MysqlSession(address).Connect(kPatience); }

 private:
  static std::unique_ptr<TempDirectory>& Certificates() {
    static std::unique_ptr<TempDirectory> directory;
    return directory;
  }
  static std::unique_ptr<MariadbProcess>& Shared() {
    static std::unique_ptr<MariadbProcess> server;
    return server;
  }
};

TEST_F(MysqlSessionTest, ReturnsTheRowsOfTheFirstResult) {
  MysqlSession session(server().address());
  EXPECT_EQ(session.Ask("SELECT 1", kPatience).status().message(), "MariaDB: not connected");
  ASSERT_EQ(session.Connect(kPatience).message(), "");
  const auto rows = session.Ask("SELECT 1, NULL, 'a\\0b', '' UNION ALL SELECT 2, 'é', '', NULL", kPatience);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows.value().size(), 2U);
  EXPECT_EQ(rows.value()[0], (MysqlSession::Row{"1", std::nullopt, std::string("a\0b", 3), ""}));
  EXPECT_EQ(rows.value()[1], (MysqlSession::Row{"2", "é", "", std::nullopt}));
  EXPECT_TRUE(session.Ask("CREATE OR REPLACE TABLE t(a int PRIMARY KEY)", kPatience).value().empty());
  EXPECT_TRUE(session.Ask("INSERT INTO t VALUES (1), (2)", kPatience).value().empty());
  const auto several = session.Ask("BEGIN NOT ATOMIC SELECT 3; SELECT a FROM t; END", kPatience);
  ASSERT_TRUE(several.ok()) << several.status().message();
  EXPECT_EQ(several.value(), std::vector<MysqlSession::Row>{{"3"}});
  EXPECT_EQ(session.Ask("SELECT count(*) FROM t", kPatience).value()[0][0], "2");
}

TEST_F(MysqlSessionTest, StaysOpenAfterAnErrorOfTheServer) {
  MysqlSession session(server().address());
  ASSERT_EQ(session.Connect(kPatience).message(), "");
  const std::string said = session.Ask("SELECT nonsense", kPatience).status().message();
  EXPECT_TRUE(said.starts_with("MariaDB: Unknown column 'nonsense'")) << said;
  EXPECT_TRUE(said.ends_with(" [1054]")) << said;
  EXPECT_EQ(session.error_number(), 1054U);
  const auto late = session.Ask("BEGIN NOT ATOMIC SELECT 1; SELECT nonsense; END", kPatience);
  EXPECT_FALSE(late.ok()) << "an error after the first result";
  EXPECT_TRUE(session.connected());
  EXPECT_TRUE(session.Ask("SELECT 1", kPatience).ok());
  EXPECT_EQ(session.error_number(), 0U);
}

TEST_F(MysqlSessionTest, ExecuteDropsTheRowsAsTheyCome) {
  MysqlSession session(server().address());
  EXPECT_EQ(session.Execute("SELECT 1", kPatience).message(), "MariaDB: not connected");
  ASSERT_EQ(session.Connect(kPatience).message(), "");
  const auto peak_kib = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const std::string rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT ";
  const long before_kib = peak_kib();
  ASSERT_EQ(session.Execute(rows + "repeat('x', 1000000) FROM n", kPatience).message(), "");
  EXPECT_LT(peak_kib() - before_kib, 50'000) << "the rows have 100 MB";
  ASSERT_EQ(session.Execute("BEGIN NOT ATOMIC SELECT 3; SELECT 4; DO 5; END", kPatience).message(), "");
  EXPECT_EQ(session.Ask("SELECT 6", kPatience).value()[0][0], "6");

  const std::string late = rows + "if(i < 50, i, (SELECT 1 UNION SELECT i)) FROM n";
  EXPECT_TRUE(Has(session.Execute(late, kPatience).message(), "[1242]")) << "an error after the first row";
  EXPECT_EQ(session.error_number(), 1242U);
  EXPECT_TRUE(session.Execute("DO 1", kPatience).ok());
  EXPECT_TRUE(Has(session.Execute(rows + "i, sleep(1) FROM n", milliseconds(200)).message(), "no answer in time"));
  EXPECT_FALSE(session.connected());
}

TEST_F(MysqlSessionTest, TellsWarningsAndWorkThatIsLeftOpen) {
  MysqlSession session(server().address());
  EXPECT_EQ(session.warnings(), 0U);
  ASSERT_EQ(session.Connect(kPatience).message(), "");
  struct Case {
    std::string_view sql;
    bool open;
  };
  for (const Case& c :
       {Case{"SELECT 1", false}, Case{"START TRANSACTION", true}, Case{"SELECT 1", true}, Case{"COMMIT", false},
        Case{"/*!40101 SET @OLD = @@AUTOCOMMIT, AUTOCOMMIT = 0 */", true}, Case{"SET autocommit = 1", false}}) {
    ASSERT_EQ(session.Execute(c.sql, kPatience).message(), "");
    EXPECT_EQ(session.has_open_work(), c.open) << c.sql;
    EXPECT_EQ(session.warnings(), 0U) << c.sql;
  }
  ASSERT_TRUE(session.Execute("DROP TABLE IF EXISTS nowhere", kPatience).ok());
  EXPECT_EQ(session.warnings(), 1U);
}

// A server that is not to be trusted could otherwise have any file of the client.
TEST_F(MysqlSessionTest, GivesTheServerNoFiles) {
  MysqlSession session(server().address());
  ASSERT_EQ(session.Connect(kPatience).message(), "");
  ASSERT_TRUE(session.Ask("CREATE OR REPLACE TABLE files(a text)", kPatience).ok());
  EXPECT_FALSE(session.Ask("LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE files", kPatience).ok());
  EXPECT_EQ(server().Ask("SELECT count(*) FROM files"), "0");
}

TEST_F(MysqlSessionTest, ErrorsTellTheCauseButNoPassword) {
  server().Ask("CREATE OR REPLACE USER stranger IDENTIFIED BY 'SECRET'");
  const SilentPort silent;
  MysqlAddress refused = server().address();
  refused.port = silent.port();
  MysqlAddress wrong = server().address();
  wrong.user = "stranger";
  wrong.database = "";
  wrong.password = "SECRET of another";
  MysqlAddress nowhere = server().address();
  nowhere.database = "nowhere";
  struct Case {
    MysqlAddress address;
    std::string_view error;
  };
  for (const Case& c : {Case{refused, "Can't connect"}, Case{wrong, "Access denied"}, Case{nowhere, "nowhere"}}) {
    const std::string said = TryToConnect(c.address).message();
    EXPECT_TRUE(Has(said, c.error)) << said;
    EXPECT_FALSE(Has(said, "SECRET")) << said;
  }
  wrong.password = "SECRET";
  EXPECT_EQ(TryToConnect(wrong).message(), "");
}

TEST_F(MysqlSessionTest, ACertificateThatIsNamedMustHaveSignedTheServers) {
  MysqlAddress address = server().address();
  address.ca_file = ca_file();
  MysqlSession session(address);
  ASSERT_EQ(session.Connect(kPatience).message(), "");
  const auto cipher = session.Ask("SHOW STATUS LIKE 'ssl_cipher'", kPatience);
  ASSERT_TRUE(cipher.ok()) << cipher.status().message();
  EXPECT_NE(cipher.value()[0][1], "");
  const std::string text(1 << 20, 'x');
  EXPECT_EQ(session.Ask("SELECT length('" + text + "'), '" + text + "'", kPatience).value()[0][0], "1048576");

  const TempDirectory others;
  MakeCertificates(others.path());
  address.ca_file = others / "ca.crt";
  EXPECT_FALSE(TryToConnect(address).ok()) << "another authority";
  const MariadbProcess plain({"--skip-ssl"});
  address = plain.address();
  address.ca_file = ca_file();
  EXPECT_FALSE(TryToConnect(address).ok()) << "a server without TLS";
}

TEST_F(MysqlSessionTest, AServerThatStandsStillIsNotWaitedFor) {
  MariadbProcess mariadb;
  const std::string error = "MariaDB: no answer in time from 127.0.0.1:" + std::to_string(mariadb.port());
  MysqlSession reading(mariadb.address());
  MysqlSession sending(mariadb.address());
  ASSERT_EQ(reading.Connect(kPatience).message(), "");
  ASSERT_EQ(sending.Connect(kPatience).message(), "");
  mariadb.Pause();
  EXPECT_EQ(reading.Ask("SELECT 1", milliseconds(20)).status().message(), error);
  EXPECT_FALSE(reading.connected());
  EXPECT_EQ(reading.Ask("SELECT 1", milliseconds(20)).status().message(), "MariaDB: not connected");
  EXPECT_EQ(reading.Connect(milliseconds(20)).message(), error);
  const std::string much = "SELECT length('" + std::string(15 << 20, 'x') + "')";
  EXPECT_EQ(sending.Ask(much, milliseconds(20)).status().message(), error) << "the statement cannot even be sent";
  EXPECT_EQ(sending.error_number(), 0U);
  mariadb.Resume();
  ASSERT_EQ(reading.Connect(kPatience).message(), "");
  EXPECT_TRUE(reading.Ask(much, kPatience).ok());
}

TEST_F(MysqlSessionTest, ASessionWithAServerThatDiedIsClosed) {
  MariadbProcess mariadb;
  MysqlSession session(mariadb.address());
  ASSERT_EQ(session.Connect(kPatience).message(), "");
  mariadb.Kill();
  EXPECT_FALSE(session.Ask("SELECT 1", kPatience).ok());
  EXPECT_FALSE(session.connected());
  EXPECT_FALSE(session.Connect(kPatience).ok());
  mariadb.Restart();
  EXPECT_EQ(session.Connect(kPatience).message(), "");
  EXPECT_TRUE(session.Ask("SELECT 1", kPatience).ok());
}

}  // namespace
}  // namespace weir
