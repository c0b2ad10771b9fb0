// Pipeline: keeps a number of calls to a quota store unanswered at the same time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "throttle/limits/quota/quota_store.h"

namespace weir {

class Pipeline {
 public:
  // The store, and the strings that the charge points to, must outlive the pipeline.
  Pipeline(QuotaStore& store, const Charge& charge) : store_(store), charge_(charge) {}

  struct Result {
    uint64_t answered = 0;
    uint64_t failed = 0;  // answers with a code other than kOk
  };
  // Makes `calls` calls in all, at most `depth` of them unanswered at a time. Blocks until all are answered.
  Result Run(uint64_t calls, uint64_t depth);

 private:
  void OnAnswer(const ChargeAnswer& answer);

  QuotaStore& store_;
  const Charge charge_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t free_ = 0;  // calls that may be submitted now
  uint64_t under_way_ = 0;
  Result result_;
};

}  // namespace weir
