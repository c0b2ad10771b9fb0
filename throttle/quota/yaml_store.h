// YamlQuotaStore: a MemoryQuotaStore that writes its quotas and its state to a file, in the published format:
//
//   quotas:                                    state:
//     gpt-4o:                                    gpt-4o:
//       max_rpm: 500                               requests: [2026-02-20T14:32:01.123456789Z]
//       max_tpm: 30000                             tokens: [{time: 2026-02-20T14:32:01.123456789Z, count: 1500}]
//       max_rpd: 0                                 day_start: 2026-02-20T00:00:00Z
//                                                  day_count: 42
//
// and, which only weir reads, `stated_by_configuration: [gpt-4o]`: the quotas that a configuration file stated.
//
// A file of that format is read and written back the same. A request that stands for several made at nearly the same
// time is {time, count}, which only weir reads. Counts of tiers and open reservations are not written: an open
// reservation counts as used. A key that the format does not have is an error: what a newer version has written would
// be lost. The whole state is written each time, so a file has at most kMaxQuotaYamlBytes.
//
// A file that cannot be read is an error that says where, and stays as it is; so is one of 0 bytes, which must have
// been cut off. A missing file is an empty state; its directory is made. The file is written under another name,
// synced, and renamed: if that fails, the old file stays. One process at a time holds the file (a lock beside it);
// another gets an error that names the holder.
//
// The file is written by Persist, every `persist_every` if something changed (less often if writing takes long: at most
// a fifth of the time is spent on it), and when the store ends.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "throttle/quota/memory_store.h"

namespace weir {

struct YamlStoreOptions {
  MemoryStoreOptions memory;
  Duration persist_every = std::chrono::seconds(1);  // 0: only Persist and the end
};

inline constexpr size_t kMaxQuotaYamlBytes = size_t{64} << 20;

class YamlStateFile;

class YamlQuotaStore final : public MemoryQuotaStore {
 public:
  static Result<std::unique_ptr<YamlQuotaStore>> Open(const std::string& path, YamlStoreOptions options = {},
                                                      const WallClock& clock = WallClock::Unstepped());
  ~YamlQuotaStore() override;

  std::string name() const override;
  ChargeAnswer Run(const Charge& charge) override;
  SettlementAnswer Run(const Settlement& settlement) override;
  Status SetQuota(std::string_view model, std::optional<ModelQuota> quota) override;
  Status StateQuota(std::string_view model, const ModelQuota& quota) override;
  Status Reset(std::string_view model) override;
  Status Import(const QuotaState& state) override;
  Status Persist() override;
  StoreHealth Health() const override;  // includes the problem of the last Persist

 private:
  YamlQuotaStore(std::unique_ptr<YamlStateFile> file, const YamlStoreOptions& options, const WallClock& clock);
  void Changed();
  bool IsChanged() const;
  void PersistUntil(const std::stop_token& stop);

  const std::unique_ptr<YamlStateFile> file_;
  const Duration persist_every_;
  std::atomic<bool> changed_{false};
  std::atomic<uint64_t> expired_written_{0};  // count of expired reservations that the file has; any call may find more
  std::mutex writing_;                        // one Persist at a time
  mutable std::mutex problem_mutex_;
  std::string problem_;
  std::condition_variable_any pause_;
  std::jthread persister_;
};

// The format itself.
Result<QuotaState> ReadQuotaYaml(std::string_view text, std::string_view file);
std::string WriteQuotaYaml(const QuotaState& state);

}  // namespace weir
