#include <weir/config/yaml_reader.h>
#include <weir/monitors/rocksdb_monitor.h>

#include <cstdint>
#include <cstdio>

int main() {
  uint64_t target_mb = 0;
  const weir::Status read = weir::ReadYaml("target_mb: 512", "inline", [&](weir::YamlMap& root) {
    root.Required("target_mb").Read(&target_mb, {.min = 1, .max = 65535, .unit = "MiB"});
  });
  rocksdb::Options options;
  const auto prepared = weir::PrepareRocksDb(target_mb << 20, &options);
  if (!read.ok() || !prepared.ok()) {
    std::fprintf(stderr, "%s%s\n", read.message().c_str(), prepared.status().message().c_str());
    return 1;
  }
  std::printf("slowdown moved to %d files\n", options.level0_slowdown_writes_trigger);
  return 0;
}
