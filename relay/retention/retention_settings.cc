#include "relay/retention/retention_settings.h"

#include "config/text/parse.h"

namespace weir {
namespace {

constexpr double kLeastGb = 0.05;

}  // namespace

void Declare(SettingTable& table, RetentionSettings& s) {
  table.Add("MAX_DISK_GB", &s.max_disk_gb, {.min = 0, .max = 1'000'000, .unit = "GB"},
            "disk space for the stored events; near it, the relay removes the oldest events of those authors who stand "
            "lowest; 0: no budget");
}

Status Check(const RetentionSettings& s) {
  if (s.max_disk_gb == 0 || s.max_disk_gb >= kLeastGb) return Status();
  return Status::Error("WEIR_MAX_DISK_GB=" + FormatNumber(s.max_disk_gb) + " must be 0, for no budget, or at least " +
                       FormatNumber(kLeastGb) + ": the buffers of the store alone need some 20 MB");
}

}  // namespace weir
