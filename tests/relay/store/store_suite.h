// StoreSuite: tests of the promises of EventStore, which every store must pass. A test program links store_suite*.cc
// and names its stores:
//
//   INSTANTIATE_TEST_SUITE_P(RocksDb, StoreSuite, testing::Values(StoreKind{"rocksdb", MakeRocksDb}), NameOfKind);
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "tests/relay/store/rounds.h"
#include "tests/relay/store/store_under_test.h"

namespace weir {

struct StoreKind {
  std::string name;
  std::function<std::unique_ptr<StoreUnderTest>(const std::string& own_url)> make;
  uint64_t histories = 12;  // number of random histories (history.h); WEIR_HISTORY_SEEDS=1000 for a long run
};
inline void PrintTo(const StoreKind& kind, std::ostream* out) { *out << kind.name; }
inline std::string NameOfKind(const testing::TestParamInfo<StoreKind>& info) { return info.param.name; }

class StoreSuite : public testing::TestWithParam<StoreKind> {
 protected:
  static constexpr const char* kOwnUrl = "wss://weir.example";

  std::unique_ptr<StoreUnderTest> MakePlace(const std::string& own_url = kOwnUrl) { return GetParam().make(own_url); }
  uint64_t Seeds(uint64_t part = 1) const {
    return RoundsBy("WEIR_HISTORY_SEEDS", std::max<uint64_t>(1, GetParam().histories / part));
  }
};

}  // namespace weir
