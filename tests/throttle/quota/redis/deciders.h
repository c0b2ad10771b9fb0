// Decisions of a test, one at a time or many at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "throttle/quota/redis/redis_store.h"

namespace weir {

// Opens a store with a long timeout unless the options say otherwise, because the machine may be slow.
std::unique_ptr<RedisQuotaStore> OpenRedis(const std::string& url,
                                           RedisStoreOptions options = {.timeout = std::chrono::seconds(20)});

ChargeAnswer TakeOne(QuotaStore& store, std::string_view model, const ModelQuota& quota);
ChargeAnswer PeekAt(QuotaStore& store, std::string_view model);

// Threads that take one request after another of one model, until they are stopped.
class Deciders {
 public:
  Deciders(QuotaStore& store, std::string model, ModelQuota quota, size_t threads = 4);
  ~Deciders() { Stop(); }
  Deciders(const Deciders&) = delete;
  Deciders& operator=(const Deciders&) = delete;

  void Stop();
  int64_t taken() const { return taken_; }
  int64_t refused() const { return refused_; }  // by the quota
  int64_t away() const { return away_; }        // kStoreUnavailable
  std::string problem();                        // the newest problem of those
  // Returns true if this many more decisions are taken or refused soon.
  bool GoOn(int64_t decisions = 20);

 private:
  void Run(QuotaStore& store);

  const std::string model_;
  const ModelQuota quota_;
  std::atomic<bool> stop_{false};
  std::atomic<int64_t> taken_{0};
  std::atomic<int64_t> refused_{0};
  std::atomic<int64_t> away_{0};
  std::mutex mutex_;
  std::string problem_;
  std::vector<std::jthread> threads_;
};

}  // namespace weir
