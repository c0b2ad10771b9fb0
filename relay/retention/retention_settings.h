// RetentionSettings: the operator's setting for the disk budget. The rules of retention are in weir.yaml
// (relay/rules/retention_reader.h).
#pragma once

#include <cstdint>

#include "config/settings.h"
#include "config/status.h"

namespace weir {

struct RetentionSettings {
  double max_disk_gb = 0;  // WEIR_MAX_DISK_GB, in 10^9 bytes; 0: no budget

  uint64_t max_disk_bytes() const { return static_cast<uint64_t>(max_disk_gb * 1e9); }
};
void Declare(SettingTable& table, RetentionSettings& settings);
// Returns an error for a budget that the store's own buffers would fill.
Status Check(const RetentionSettings& settings);

}  // namespace weir
