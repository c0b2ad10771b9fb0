// Makes quota decisions for a test, one at a time or many at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "throttle/limits/quota/redis/redis_store.h"

namespace weir {

// Opens a store with a long timeout unless the options say otherwise, because the machine may be slow.
std::unique_ptr<RedisQuotaStore> OpenRedis(const std::string& url,
                                           RedisStoreOptions options = {.timeout = std::chrono::seconds(20)});
std::unique_ptr<RedisQuotaStore> OpenRedis(const std::string& url, const WallClock& clock);

ChargeAnswer TakeOne(QuotaStore& store, std::string_view model, const ModelQuota& quota);
ChargeAnswer PeekAt(QuotaStore& store, std::string_view model);

// Deciders: threads that take one request after the other from the quota of one model, until they are stopped.
class Deciders {
 public:
  Deciders(QuotaStore& store, std::string model, ModelQuota quota, size_t threads = 4);
  ~Deciders() { Stop(); }
  Deciders(const Deciders&) = delete;
  Deciders& operator=(const Deciders&) = delete;

  void Stop();
  int64_t taken() const { return taken_; }
  int64_t refused() const { return refused_; }  // decisions that the quota refused
  int64_t away() const { return away_; }        // answers kStoreUnavailable
  std::string problem();                        // the latest error of such an answer
  // Waits until `decisions` more decisions are granted or refused. Returns false if that takes too long.
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
