// StoreUnderTest: the place in which a test keeps a store of any kind. It is empty at first; the test can open the
// store several times; the destructor removes it.
#pragma once

#include <memory>
#include <string>

#include "relay/store/store_check.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {

class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  // Opens the store. REQUIRES: it is not open already.
  virtual std::unique_ptr<EventStore> Open() = 0;
  // Returns the first place at which the index does not match the stored events; empty if there is none.
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
