#include <weir/throttle/limits/quota/memory_store.h>
#include <weir/throttle/limits/quota/quota_limiter.h>

#include <cstdio>

int main() {
  weir::MemoryQuotaStore store;
  weir::QuotaLimiter limiter(store, {.providers = {weir::Provider::kOpenAi}});
  const weir::Decision decision = limiter.Reserve({.model = "gpt-4o", .tokens = 900});
  if (!decision.allowed || !limiter.Commit(decision.reservation, 800, 50).ok()) return 1;
  std::printf("used %lld tokens\n", static_cast<long long>(limiter.Stats("gpt-4o").value().usage.tpm));
  return 0;
}
