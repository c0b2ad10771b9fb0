// ThrottledTest: a real RocksDB under a limiter that the test moves (limiter_fixture.h), so that no test depends on the
// speed of the machine. While an emergency holds bulk work, each bulk write waits until the test ends the emergency or
// lets the longest wait pass.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rocksdb/convenience.h"
#include "rocksdb/merge_operator.h"
#include "tests/fixtures/temp_directory.h"
#include "tests/monitors/rocksdb_fixture.h"
#include "tests/throttle/limiter_fixture.h"
#include "throttle/rocksdb/throttled_db.h"
#include "throttle/rocksdb/throttled_transaction_db.h"

namespace weir {

class ThrottledTest : public LimiterTest {
 protected:
  using Family = rocksdb::ColumnFamilyHandle;

  ThrottledTest() { Build(); }

  static rocksdb::Options MergingEngine() {
    rocksdb::Options options = SmallEngine();
    EXPECT_TRUE(rocksdb::MergeOperator::CreateFromString({}, "stringappend", &options.merge_operator).ok());
    return options;
  }
  std::vector<rocksdb::ColumnFamilyDescriptor> TwoFamilies() const {
    return {{rocksdb::kDefaultColumnFamilyName, MergingEngine()}, {"index", MergingEngine()}};
  }

  void HoldBulkWork() {
    Say(0.1, 1.3);
    Tick();
  }
  void EndHold() {
    Say(0.1, 0.1);
    Tick();
  }
  // Lets the longest wait pass without a new decision.
  void LetWaitsExpire() {
    clock_.Advance(std::chrono::minutes(2));
    limiter_->Pump();
  }

  // Runs `write` in a thread, `meanwhile` as soon as the write waits, and returns what the write returned.
  template <typename Write>
  rocksdb::Status WhileItWaits(Write write, const std::function<void()>& meanwhile) {
    rocksdb::Status status;
    std::thread writer([&] { status = write(); });
    EXPECT_TRUE(Eventually([&] { return limiter_->Stats(Operation::kWrite).waiting == 1; }));
    meanwhile();
    writer.join();
    return status;
  }

  // Returns the writes of the class that were admitted since the last call for that class.
  Flow Asked(WorkClass c = WorkClass::kInteractive) {
    const Flow now = limiter_->Stats(Operation::kWrite).admitted[c];
    const Flow since{.operations = now.operations - before_[c].operations, .bytes = now.bytes - before_[c].bytes};
    before_[c] = now;
    return since;
  }
  Flow AskedInBulk() { return Asked(WorkClass::kBulk); }

  TempDirectory directory_;

 private:
  ByClass<Flow> before_;
};

}  // namespace weir
