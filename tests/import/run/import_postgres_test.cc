// Commands whose WEIR_STORE is a PostgreSQL: some work there too; those that need a RocksDB say so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "import/export/export_command.h"
#include "relay/commands/check_command.h"
#include "relay/commands/scan_command.h"
#include "relay/relay.h"
#include "relay/store/storage/storage.h"
#include "tests/fixtures/called_command.h"
#include "tests/import/run/import_fixture.h"
#include "tests/relay/store/postgres/postgres_fixture.h"

namespace weir {
namespace {

class ImportPostgresTest : public ImportFixture {
 protected:
  void SetUp() override {
    if (!PostgresProcess::IsInstalled()) GTEST_SKIP() << "no PostgreSQL is installed";
    database_ = std::make_unique<PostgresDatabase>();
    setenv("WEIR_STORE", database_->url().c_str(), 1);
  }
  void TearDown() override { unsetenv("WEIR_STORE"); }

  std::unique_ptr<PostgresDatabase> database_;
};

TEST_F(ImportPostgresTest, ImportExportAndScanWorkOnIt) {
  WriteText(file("a.jsonl"), Notes(0, 300));
  const Ran imported = Import({file("a.jsonl")});
  EXPECT_EQ(imported.code, 0) << imported.err;
  EXPECT_EQ(database_->Ask("SELECT count(*) FROM weir_events"), "300");
  const Ran exported = CallCommand(ExportCommand, {"weir export", "--quiet"});
  EXPECT_EQ(exported.code, 0) << exported.err;
  EXPECT_EQ(exported.out, Notes(0, 300)) << "in the order in which they came";
  const Ran scanned = CallCommand(ScanCommand, {"weir scan", R"({"kinds":[1],"limit":7})"});
  EXPECT_EQ(scanned.code, 0) << scanned.err;
  EXPECT_EQ(std::count(scanned.out.begin(), scanned.out.end(), '\n'), 7);
}

// Another database would lack what came before the place.
TEST_F(ImportPostgresTest, AnInterruptedImportGoesOnInItsOwnDatabaseOnly) {
  const std::string packed = Packed(Compression::kGzip, Notes(0, 400));
  WriteText(file("cut.gz"), packed.substr(0, packed.size() / 2));
  EXPECT_EQ(Import({file("cut.gz")}).code, 2);
  WriteText(file("cut.gz"), packed);
  const PostgresDatabase other;
  MustOpen(other.Options());
  setenv("WEIR_STORE", other.url().c_str(), 1);
  const Ran elsewhere = Import({"--resume", file("cut.gz")});
  EXPECT_NE(elsewhere.code, 0);
  EXPECT_NE(elsewhere.err.find("is not the one that the import was stopped in"), std::string::npos) << elsewhere.err;
  setenv("WEIR_STORE", database_->url().c_str(), 1);
  const Ran resumed = Import({"--resume", file("cut.gz")});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NE(resumed.err.find("going on after line"), std::string::npos) << resumed.err;
  EXPECT_EQ(database_->Ask("SELECT count(*) FROM weir_events"), "400");
}

TEST_F(ImportPostgresTest, RefusesCommandsThatOnlyRocksDbHas) {
  const Ran checked = CallCommand(CheckCommand, {"weir check"});
  EXPECT_NE(checked.code, 0);
  EXPECT_NE(checked.err.find("which keeps its own indexes right"), std::string::npos) << checked.err;
  RelayConfiguration configuration;
  configuration.data_dir = data_dir();
  configuration.server.port = 0;
  configuration.storage.store = database_->url();
  const auto opened = Relay::Open(configuration, true);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.status().message().find("--take-over is for a relay whose events are in its data directory"),
            std::string::npos);
}

// Each store that is opened to save has a name, which tells a relay from its imports.
TEST_F(ImportPostgresTest, RelayAndImportHaveNamesOfTheirOwn) {
  StorageOptions options{.data_dir = data_dir(), .address = "http://127.0.0.1:4001"};
  options.settings.store = database_->url();
  options.settings.memory.target_memory_mb = 4096;
  const auto relay = Storage::Open(options);
  ASSERT_TRUE(relay.ok()) << relay.status().message();
  const std::string name = relay.value()->postgres_store()->origin().name;
  EXPECT_TRUE(name.ends_with(":4001")) << name;
  StorageOptions for_import{.settings = options.settings, .data_dir = data_dir(), .for_import = true};
  const auto import = Storage::Open(for_import);
  ASSERT_TRUE(import.ok()) << import.status().message();
  EXPECT_EQ(import.value()->postgres_store()->origin().name, name.substr(0, name.rfind(':')) + "/import");
}

}  // namespace
}  // namespace weir
