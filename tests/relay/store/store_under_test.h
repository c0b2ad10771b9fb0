// A place where a test keeps a store, whatever it is on: opened again and again, empty at first, gone with the test.
#pragma once

#include <memory>
#include <string>

#include "relay/store/store_check.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {

class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  // Must not be called while another store is open.
  virtual std::unique_ptr<EventStore> Open() = 0;
  // Says at what place the index does not agree with what is stored; empty: nowhere.
  virtual std::string Difference(EventStore& store) = 0;
};

class RocksDbUnderTest : public StoreUnderTest {
 public:
  explicit RocksDbUnderTest(const std::string& own_url) : options_(SmallStore(directory_ / "events")) {
    options_.own_urls = {own_url};
  }
  std::unique_ptr<EventStore> Open() override { return MustOpen(options_); }
  std::string Difference(EventStore& store) override {
    const Result<CheckReport> report = CheckStore(static_cast<RocksDbStore&>(store));
    if (!report.ok()) return report.status().message();
    return report.value().clean() ? "" : ToText(report.value());
  }

 private:
  TempDirectory directory_;
  StoreOptions options_;
};

}  // namespace weir
