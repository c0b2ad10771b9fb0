// SqlLoader and `weir load` against real servers.
#include "import/sql/sql_loader.h"

#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "config/text/parse.h"
#include "import/sql/load_command.h"
#include "tests/fixtures/command_child.h"
#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/fixtures/mariadb_process.h"
#include "tests/import/sql/load_child.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{20};

class SqlLoaderTest : public testing::Test {
 protected:
  // One server for all tests of a program, because starting one takes a second.
  static void SetUpTestSuite() {
    if (MariadbProcess::IsInstalled()) Shared() = std::make_unique<MariadbProcess>();
  }
  static void TearDownTestSuite() { Shared().reset(); }
  void SetUp() override {
    if (!Shared()) GTEST_SKIP() << "no MyRocks is installed";
    server().Ask("CREATE OR REPLACE TABLE note(id int PRIMARY KEY, text varchar(100)) ENGINE = rocksdb");
    Connect(server());
  }

  static MariadbProcess& server() { return *Shared(); }
  void Connect(const MariadbProcess& to, Duration patience = kPatience) {
    session_ = std::make_unique<MysqlSession>(to.address());
    ASSERT_EQ(session_->Connect(kPatience).message(), "");
    loader_ =
        std::make_unique<SqlLoader>(*session_, gate_, SqlLoaderOptions{.transaction_bytes = 100, .patience = patience});
  }
  // Loads the text. A transaction is complete after three or four statements such as "INSERT INTO note VALUES (1,
  // 'a')".
  Status LoadText(const std::string& sql) {
    SqlSplitter splitter;
    const auto add = [this](SqlStatement statement) { return loader_->Add(std::move(statement)); };
    Status done = splitter.Add(sql, add);
    if (done.ok()) done = splitter.End(add);
    return done.ok() ? loader_->Finish() : done;
  }
  const SqlLoadTally& tally() const { return loader_->tally(); }
  static std::string Ids(const MariadbProcess& of = server()) {
    return of.Ask("SELECT group_concat(id ORDER BY id) FROM note");
  }
  static std::string Row(int id) { return "INSERT INTO note VALUES (" + std::to_string(id) + ", 'text');\n"; }

  BulkGate gate_{nullptr, {}, Clock::System()};
  std::unique_ptr<MysqlSession> session_;
  std::unique_ptr<SqlLoader> loader_;

 private:
  static std::unique_ptr<MariadbProcess>& Shared() {
    static std::unique_ptr<MariadbProcess> server;
    return server;
  }
};

TEST_F(SqlLoaderTest, LoadsWhatADumpHas) {
  const Status loaded = LoadText(
      "/*M!999999\\- enable the sandbox mode */ \n"
      "-- MariaDB dump\n"
      "/*!40101 SET NAMES utf8mb4 */;\n"
      "DROP TABLE IF EXISTS `note`;\n"
      "CREATE TABLE `note` (`id` int PRIMARY KEY, `text` varchar(100)) ENGINE=ROCKSDB;\n"
      "LOCK TABLES `note` WRITE;\n"
      "/*!40000 ALTER TABLE `note` DISABLE KEYS */;\n"
      "INSERT INTO `note` VALUES (1,'a;\\'b'),\n(2,'--'),(3,'é');\n"
      "INSERT INTO note VALUES (4,'#');\n"
      "UPDATE note SET text = '/*' WHERE id = 4;\n"
      "UNLOCK TABLES;\n"
      "DELIMITER ;;\n"
      "CREATE OR REPLACE PROCEDURE twice(n int) BEGIN SELECT n; SELECT n; END ;;\n"
      "DELIMITER ;\n"
      "CALL twice(1);\n"
      "BEGIN;\n"
      "DELETE FROM note WHERE id = 2;\n"
      "COMMIT;\n"
      "-- done\n");
  ASSERT_EQ(loaded.message(), "");
  EXPECT_EQ(server().Ask("SELECT group_concat(id, text ORDER BY id SEPARATOR '|') FROM note"), "1a;'b|3é|4/*");
  EXPECT_EQ(tally().left_out, 4U);
  EXPECT_EQ(tally().statements, 10U);
  EXPECT_EQ(tally().next_line, 19U);
  EXPECT_EQ(tally().done_on_line, 1U);
}

TEST_F(SqlLoaderTest, TheTransactionsOfTheFileAreLeftOut) {
  const std::string alone = "BEGIN NOT ATOMIC INSERT INTO note VALUES (";
  for (const std::string begin : {"BEGIN", "begin work", "START TRANSACTION", "start  transaction read write",
                                  "SET autocommit=0", "/*!40101 SET @old = @@autocommit, @@session.autocommit = 0 */",
                                  "BEGIN /* a comment */", "BEGIN NOT ATOMIC START TRANSACTION; END"}) {
    Connect(server());
    server().Ask("DELETE FROM note");
    const std::string sql =
        Join({"DELIMITER $$\n", begin, "$$\n", alone, "1, 'a'); END$$\nSAVEPOINT s$$\n", alone,
              "2, 'b'); END$$\nROLLBACK TO SAVEPOINT s$$\nRELEASE SAVEPOINT s$$\nCALL nothing()$$\n"},
             "");
    const std::string said = LoadText(sql).message();
    EXPECT_TRUE(said.starts_with("line 8: MariaDB: PROCEDURE weir.nothing does not exist")) << begin << ": " << said;
    EXPECT_EQ(tally().next_line, 8U);
    session_->Close();
    EXPECT_EQ(Ids(), "1,2") << begin;
  }
}

TEST_F(SqlLoaderTest, TheTallySaysWhereToGoOn) {
  server().Ask("INSERT INTO note VALUES (7, 'there before')");
  const std::string row = "INSERT INTO note VALUES (1,\n'text');";
  const std::string fails = "INSERT INTO note VALUES (7, '');";
  const std::string alone = "DO 1; ";
  struct Case {
    std::vector<std::string> parts;
    uint64_t next_line;
    uint64_t done_on_line;
  };
  for (const Case& c : {
           Case{{fails}, 1, 0},
           Case{{alone, row, fails}, 1, 1},
           Case{{alone, alone, fails}, 1, 2},
           Case{{alone, alone, "\n", fails}, 2, 0},
           Case{{"DO\n1;\n", fails}, 3, 0},
           Case{{"DO\n1; COMMIT; ", fails}, 2, 2},
           Case{{row, alone, "\n\n", fails}, 4, 0},
           Case{{row, alone, fails, row}, 2, 2},
           Case{{row, "\n", fails}, 1, 0},
       }) {
    const std::string sql = Join(c.parts, "");
    Connect(server());
    server().Ask("DELETE FROM note WHERE id < 7");
    EXPECT_TRUE(Has(LoadText(sql).message(), "Duplicate entry '7'")) << sql;
    EXPECT_EQ(tally().next_line, c.next_line) << sql;
    EXPECT_EQ(tally().done_on_line, c.done_on_line) << sql;
    EXPECT_EQ(tally().unknown, SqlLoadTally::Unknown::kNothing);
  }
}

TEST_F(SqlLoaderTest, RowsThatARollbackCannotUndoAreTold) {
  for (const std::string engine : {"Aria", "MyISAM", "MEMORY"}) {
    Connect(server());
    server().Ask("CREATE OR REPLACE TABLE plain(id int PRIMARY KEY) ENGINE = " + engine);
    EXPECT_TRUE(Has(LoadText("INSERT INTO plain VALUES (1);\n" + Row(1) + Row(1)).message(), "line 3: "));
    EXPECT_EQ(tally().unknown, SqlLoadTally::Unknown::kNotUndone) << engine;
    EXPECT_EQ(tally().next_line, 1U);
    EXPECT_EQ(Ids(), "");
    EXPECT_EQ(server().Ask("SELECT count(*) FROM plain"), "1");
  }
}

TEST_F(SqlLoaderTest, ATransactionOfWhichRowsStayIsNotTriedAgain) {
  server().Ask("CREATE OR REPLACE TABLE plain(id int) ENGINE = Aria");
  server().Ask("INSERT INTO note VALUES (1, 'old')");
  MysqlSession holder(server().address());
  ASSERT_EQ(holder.Connect(kPatience).message(), "");
  ASSERT_TRUE(holder.Execute("START TRANSACTION", kPatience).ok());
  ASSERT_TRUE(holder.Execute("UPDATE note SET text = 'held' WHERE id = 1", kPatience).ok());
  ASSERT_TRUE(session_->Execute("SET rocksdb_lock_wait_timeout = 1", kPatience).ok());
  const Status loaded = LoadText("INSERT INTO plain VALUES (1);\nUPDATE note SET text = 'new' WHERE id = 1;\n");
  EXPECT_TRUE(Has(loaded.message(), "[1205]")) << loaded.message();
  EXPECT_EQ(tally().repeated, 0U);
  EXPECT_EQ(tally().unknown, SqlLoadTally::Unknown::kNotUndone);
  EXPECT_EQ(server().Ask("SELECT count(*) FROM plain"), "1");
}

TEST_F(SqlLoaderTest, AStatementThatRunsAloneAndFailsMayHaveStoredRows) {
  server().Ask("INSERT INTO note VALUES (7, 'there before')");
  const std::string insert = "INSERT INTO note VALUES ";
  const std::string said =
      LoadText("DELIMITER //\nBEGIN NOT ATOMIC " + insert + "(1, ''); " + insert + "(7, ''); END//\n").message();
  EXPECT_TRUE(Has(said, "line 2: MariaDB: Duplicate entry '7'")) << said;
  EXPECT_EQ(tally().unknown, SqlLoadTally::Unknown::kAlone);
  EXPECT_EQ(tally().next_line, 2U);
  EXPECT_EQ(Ids(), "1,7");
}

TEST_F(SqlLoaderTest, ARowThatFailsTakesItsTransactionWithIt) {
  server().Ask("INSERT INTO note VALUES (7, 'there before')");
  std::string sql;
  for (int id = 1; id < 10; ++id) sql += Row(id);
  const std::string said = LoadText(sql).message();
  EXPECT_TRUE(said.starts_with("line 7: MariaDB: Duplicate entry '7'")) << said;
  EXPECT_EQ(tally().next_line, 7U);
  EXPECT_EQ(tally().unknown, SqlLoadTally::Unknown::kNothing);
  EXPECT_EQ(Ids(), "1,2,3,4,5,6,7");
  EXPECT_EQ(tally().statements, 6U);
}

TEST_F(SqlLoaderTest, AStatementThatFailsEndsTheLoadAfterTheRowsBeforeIt) {
  const std::string said = LoadText(Row(1) + "ALTER TABLE nowhere ADD x int;\n" + Row(2)).message();
  EXPECT_TRUE(said.starts_with("line 2: MariaDB: Table 'weir.nowhere' doesn't exist")) << said;
  EXPECT_EQ(tally().next_line, 2U);
  EXPECT_EQ(Ids(), "1");
}

TEST_F(SqlLoaderTest, RightsThatLackAndTablesThatWereDroppedAreNamed) {
  server().Ask("CREATE OR REPLACE USER reader");
  server().Ask("GRANT SELECT ON weir.* TO reader");
  MysqlAddress address = server().address();
  address.user = "reader";
  session_ = std::make_unique<MysqlSession>(address);
  ASSERT_EQ(session_->Connect(kPatience).message(), "");
  loader_ = std::make_unique<SqlLoader>(*session_, gate_, SqlLoaderOptions{});
  EXPECT_TRUE(Has(LoadText(Row(1)).message(), "line 1: MariaDB: INSERT command denied"));
  EXPECT_EQ(Ids(), "");
  Connect(server());
  server().Ask("DROP TABLE note");
  EXPECT_TRUE(Has(LoadText(Row(1)).message(), "line 1: MariaDB: Table 'weir.note' doesn't exist"));
}

TEST_F(SqlLoaderTest, ATransactionThatMeetsALockIsTriedAgain) {
  server().Ask("INSERT INTO note VALUES (1, 'old')");
  MysqlSession holder(server().address());
  ASSERT_EQ(holder.Connect(kPatience).message(), "");
  ASSERT_TRUE(holder.Ask("START TRANSACTION", kPatience).ok());
  ASSERT_TRUE(holder.Ask("UPDATE note SET text = 'held' WHERE id = 1", kPatience).ok());
  ASSERT_TRUE(session_->Ask("SET rocksdb_lock_wait_timeout = 1", kPatience).ok());
  const auto rollbacks = [] {
    return server().Ask(
        "SELECT variable_value FROM information_schema.global_status "
        "WHERE variable_name = 'com_rollback'");
  };
  const std::string before = rollbacks();
  std::thread releases([&] {
    EXPECT_TRUE(Eventually([&] { return rollbacks() != before; }));
    EXPECT_TRUE(holder.Ask("ROLLBACK", kPatience).ok());
  });
  const Status loaded = LoadText(Row(2) + "UPDATE note SET text = 'new' WHERE id = 1;\n");
  releases.join();
  EXPECT_EQ(loaded.message(), "");
  EXPECT_GE(tally().repeated, 1U);
  EXPECT_EQ(tally().statements, 2U);
  EXPECT_EQ(server().Ask("SELECT group_concat(id, text ORDER BY id) FROM note"), "1new,2text");
}

TEST_F(SqlLoaderTest, AfterStopNothingMoreIsExecuted) {
  gate_.Stop();
  EXPECT_EQ(LoadText(Row(1)).message(), "stopped");
  EXPECT_EQ(tally().next_line, 1U);
  EXPECT_EQ(LoadText("DROP TABLE note;").message(), "stopped");
  EXPECT_EQ(Ids(), "");
}

TEST_F(SqlLoaderTest, AServerThatDiesLeavesItUnknownWhetherTheLastStatementIsExecuted) {
  MariadbProcess mariadb;
  mariadb.Ask("CREATE TABLE note(id int PRIMARY KEY, text varchar(100)) ENGINE = rocksdb");
  Connect(mariadb);
  std::thread kills([&] {
    EXPECT_TRUE(Eventually([&] {
      return mariadb.Ask("SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'DO sleep(%'") == "1";
    }));
    mariadb.Kill();
  });
  const Status loaded = LoadText(Row(1) + "DO sleep(1000);\n" + Row(2));
  kills.join();
  EXPECT_TRUE(loaded.message().starts_with("line 2: MariaDB: ")) << loaded.message();
  EXPECT_EQ(tally().next_line, 2U);
  EXPECT_EQ(tally().unknown, SqlLoadTally::Unknown::kLost);
  mariadb.Restart();
  EXPECT_EQ(Ids(mariadb), "1") << "what was committed is there";
}

TEST_F(SqlLoaderTest, AServerThatStandsStillIsWaitedForNoLongerThanTheTimeout) {
  MariadbProcess mariadb;
  Connect(mariadb, milliseconds(50));
  mariadb.Pause();
  const Status loaded = LoadText(Row(1));
  EXPECT_TRUE(Has(loaded.message(), "line 1: MariaDB: no answer in time")) << loaded.message();
  EXPECT_EQ(tally().unknown, SqlLoadTally::Unknown::kNothing) << "the transaction was not committed";
}

// Runs `weir load` as another process, with this input.
Ran RunLoad(std::vector<std::string> arguments, const std::string& input, const Environment& settings = {}) {
  arguments.insert(arguments.begin(), "weir load");
  CommandChild child(std::move(arguments), EnvironmentOfChild(kLoadChild, settings), CommandChild::Input::kPipe);
  child.Write(input);
  child.EndInput();
  return child.Wait();
}

TEST_F(SqlLoaderTest, TheCommandLoadsItsInput) {
  std::string sql;
  for (int id = 1; id <= 2000; ++id) sql += Row(id);
  const Ran ran = RunLoad({"--to", server().url(), "--transaction-kb", "4"}, sql);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Has(ran.out, "loaded 2000 statements, ")) << ran.out;
  EXPECT_TRUE(Has(ran.out, "; RocksDB braked 0 times\n")) << ran.out;
  EXPECT_EQ(server().Ask("SELECT count(*) FROM note"), "2000");

  const TempDirectory directory;
  const std::string file = directory.Write("more.sql", Row(3000) + Row(1) + Row(3001));
  const Ran failed = RunLoad({"--to", server().url(), "--transaction-kb", "1", file}, "");
  EXPECT_EQ(failed.code, 1);
  EXPECT_TRUE(Has(failed.err, "weir load: " + file + ": line 2: MariaDB: Duplicate entry '1'")) << failed.err;
  EXPECT_TRUE(HasLine(failed.err, "weir load: everything before line 1 is loaded; nothing from there on is"))
      << failed.err;
  EXPECT_EQ(server().Ask("SELECT count(*) FROM note"), "2000");
}

TEST_F(SqlLoaderTest, TheCommandSaysWhatIsLoaded) {
  server().Ask("CREATE OR REPLACE TABLE plain(id int PRIMARY KEY) ENGINE = Aria");
  struct Case {
    std::string sql;
    std::string_view said;
  };
  for (const Case& c : {
           Case{"DO 1; DO 1;\nDO 1; " + Row(1) + "INSERT INTO note VAL",
                "everything before line 2 is loaded; the first statement that ends on line 2 is loaded too; nothing "
                "after that is"},
           Case{"DO 1; DO 1; INSERT INTO note VALUES (1, ''), (1, '');",
                "everything before line 1 is loaded; the first 2 statements that end on line 1 are loaded too; nothing "
                "after that is"},
           Case{"DO 1;\nCALL nothing();",
                "everything before line 2 is loaded; it is not known whether the statement that failed did a part of "
                "its work; nothing after it is"},
           Case{"DO 1;\nINSERT INTO plain VALUES (1), (1);",
                "everything before line 2 is loaded; a table that knows no transactions kept rows of the next "
                "transaction; it is not known which"},
       }) {
    const Ran ran = RunLoad({"--to", server().url()}, c.sql);
    EXPECT_EQ(ran.code, 1) << ran.err;
    EXPECT_TRUE(HasLine(ran.err, "weir load: " + std::string(c.said))) << ran.err;
    EXPECT_EQ(Ids(), "") << c.sql;
  }
}

// RocksDB may not flush, and the memtables are nearly full: the command waits; a signal ends it.
TEST_F(SqlLoaderTest, TheCommandWaitsWhileRocksDbIsFull) {
  MariadbProcess mariadb({"--rocksdb-default-cf-options=write_buffer_size=1m;max_write_buffer_number=6"});
  mariadb.Ask("CREATE TABLE note(id int PRIMARY KEY, text mediumtext) ENGINE = rocksdb");
  mariadb.Ask("SET GLOBAL rocksdb_pause_background_work = 1");
  for (int id = 0; id < 10; ++id)
    mariadb.Ask("INSERT INTO note VALUES (" + std::to_string(id) + ", repeat('x', 500000))");
  std::string sql;
  for (int id = 100; id < 200; ++id)
    sql += "INSERT INTO note VALUES (" + std::to_string(id) + ", '" + std::string(60'000, 'y') + "');\n";
  const TempDirectory directory;
  const std::string file = directory.Write("much.sql", sql);
  CommandChild child({"weir load", "--to", mariadb.url(), "--transaction-kb", "50", file},
                     EnvironmentOfChild(kLoadChild, {}));
  const auto newest = [&] { return mariadb.Ask("SELECT max(id) FROM note"); };
  EXPECT_TRUE(Eventually([&] { return newest() != "9"; })) << "even then some bytes pass";
  child.Signal(SIGTERM);
  const Ran ran = child.Wait();
  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_TRUE(Has(ran.err, "weir load: " + file + ": stopped\n")) << ran.err;
  mariadb.Ask("SET GLOBAL rocksdb_pause_background_work = 0");
  EXPECT_NE(newest(), "199");
}

TEST_F(SqlLoaderTest, TheCommandSaysWhyItCannotBegin) {
  server().Ask("CREATE OR REPLACE USER loader IDENTIFIED BY 'SECRET'");
  server().Ask("GRANT ALL ON weir.* TO loader");
  const std::string loader = "mysql://loader@127.0.0.1:" + std::to_string(server().port()) + "/weir";
  const MariadbProcess without({}, MariadbProcess::Plugin::kAbsent);
  struct Case {
    std::vector<std::string> arguments;
    Environment environment;
    std::string_view error;
  };
  for (const Case& c : {
           Case{{}, {}, "--to is required"},
           Case{{"--to", "postgres://db1"}, {}, "--to: this is not the address of a MariaDB"},
           Case{{"--to", loader}, {}, "Access denied"},
           Case{{"--to", loader}, {{"MYSQL_PWD", "SECRETS"}}, "Access denied"},
           Case{{"--to", without.url()}, {}, "this server has no MyRocks"},
           Case{{"--to", server().url(), "/nowhere.sql"}, {}, "/nowhere.sql"},
           Case{{"--to", server().url()}, {{"WEIR_IMPORT_SETPOINT", "7"}}, "WEIR_IMPORT_SETPOINT"},
       }) {
    const Ran ran = RunLoad(c.arguments, "", c.environment);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_TRUE(Has(ran.err, c.error)) << ran.err;
    EXPECT_FALSE(Has(ran.err, "SECRET")) << ran.err;
  }
  const Ran ran = RunLoad({"--to", loader, "--quiet"}, Row(1), {{"MYSQL_PWD", "SECRET"}});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(Ids(), "1");
}

}  // namespace
}  // namespace weir
