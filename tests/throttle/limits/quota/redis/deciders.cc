#include "tests/throttle/limits/quota/redis/deciders.h"

#include <stdexcept>
#include <utility>

#include "tests/fixtures/redis_client.h"

namespace weir {

std::unique_ptr<RedisQuotaStore> OpenRedis(const std::string& url, RedisStoreOptions options) {
  Result<RedisEndpoint> endpoint = ParseRedisUrl(url);
  if (!endpoint.ok()) throw std::runtime_error(endpoint.status().message());
  return std::make_unique<RedisQuotaStore>(std::move(endpoint).value(), std::move(options));
}

std::unique_ptr<RedisQuotaStore> OpenRedis(const std::string& url, const WallClock& clock) {
  return OpenRedis(url, {.timeout = std::chrono::seconds(20), .clock = &clock});
}

ChargeAnswer TakeOne(QuotaStore& store, std::string_view model, const ModelQuota& quota) {
  return store.Run({.model = model, .mode = Charge::Mode::kTake, .tokens = 1, .default_quota = quota});
}

ChargeAnswer PeekAt(QuotaStore& store, std::string_view model) {
  return store.Run({.model = model, .mode = Charge::Mode::kPeek, .requests = 0});
}

Deciders::Deciders(QuotaStore& store, std::string model, ModelQuota quota, size_t threads)
    : model_(std::move(model)), quota_(quota) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this, &store] { Run(store); });
}

void Deciders::Stop() {
  stop_ = true;
  threads_.clear();
}

void Deciders::Run(QuotaStore& store) {
  while (!stop_) {
    const ChargeAnswer answer = TakeOne(store, model_, quota_);
    if (answer.fits()) {
      ++taken_;
    } else if (answer.code != QuotaCode::kStoreUnavailable) {
      ++refused_;
    } else {
      ++away_;
      {
        const std::scoped_lock lock(mutex_);
        problem_ = answer.problem;
      }
      // Waits a little before it asks again, as a caller would; an open breaker answers at once.
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

std::string Deciders::problem() {
  const std::scoped_lock lock(mutex_);
  return problem_;
}

bool Deciders::GoOn(int64_t decisions) {
  const int64_t enough = taken_ + refused_ + decisions;
  return Eventually([&] { return taken_ + refused_ >= enough; });
}

}  // namespace weir
