// EachStoreTest: a test of code above the stores, which runs on RocksDB and on PostgreSQL. In a suite that derives from
// it:
//
//   INSTANTIATE_TEST_SUITE_P(Stores, ThisSuite, EachStore(), NameOfStore);
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "tests/relay/store/postgres/postgres_fixture.h"

namespace weir {

struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<StoreUnderTest>()> make;
};

inline auto EachStore() {
  return testing::Values(
      StoreKind{"rocksdb", [] { return std::make_unique<RocksDbUnderTest>("wss://weir.example"); }},
      StoreKind{"postgres", [] { return std::make_unique<PostgresUnderTest>("wss://weir.example"); }});
}
inline std::string NameOfStore(const testing::TestParamInfo<StoreKind>& test) { return test.param.name; }

class EachStoreTest : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    if (GetParam().name == "postgres" && !PostgresProcess::IsInstalled()) GTEST_SKIP() << "no PostgreSQL is installed";
    place_ = GetParam().make();
    store_ = place_->Open();
    ASSERT_NE(store_, nullptr);
    Start();
  }
  // Makes what a suite needs on the store, which is open.
  virtual void Start() {}

  std::unique_ptr<StoreUnderTest> place_;
  std::unique_ptr<EventStore> store_;
};

}  // namespace weir
