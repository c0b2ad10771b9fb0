#include <weir/throttle/limits/quota/open_store.h>
#include <weir/throttle/limits/quota/quota_config_reader.h>
#include <weir/throttle/limits/quota/quota_limiter.h>

#include <cstdio>

int main() {
  weir::QuotaConfig config;
  const weir::Status read = weir::ReadYaml("quota: {models: {m: {max_rpm: 5}}}", "inline", [&](weir::YamlMap& root) {
    weir::ReadQuotaSection(root.Required("quota"), &config);
  });
  auto store = weir::OpenQuotaStore({.store = "sqlite:consumer.db"});
  if (!read.ok() || !store.ok()) {
    std::fprintf(stderr, "%s%s\n", read.message().c_str(), store.status().message().c_str());
    return 1;
  }
  weir::QuotaLimiter limiter(*store.value(), config);
  const weir::Decision decision = limiter.Take({.model = "m", .tokens = 900});
  std::printf("%s in %s\n", decision.allowed ? "taken" : decision.reason.c_str(), store.value()->name().c_str());
  return decision.allowed ? 0 : 1;
}
