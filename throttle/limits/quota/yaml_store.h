// YamlQuotaStore: a MemoryQuotaStore that writes its quotas and its counters to a file. The file has the format of
// another, published program:
//
//   quotas:                                    state:
//     gpt-4o:                                    gpt-4o:
//       max_rpm: 500                               requests: [2026-02-20T14:32:01.123456789Z]
//       max_tpm: 30000                             tokens: [{time: 2026-02-20T14:32:01.123456789Z, count: 1500}]
//       max_rpd: 0                                 day_start: 2026-02-20T00:00:00Z
//                                                  day_count: 42
//
// weir adds `stated_by_configuration: [gpt-4o]`, the models whose quotas a configuration stated. Only weir reads this
// key.
//
// The store reads files of that program, and writes their quotas, and the usage that still counts, in the same form. If
// an entry is of several requests, made at nearly the same time, the store writes it as {time, count}, which only weir
// reads. It writes neither counters of tiers nor open reservations; what an open reservation has charged for its model
// is written as used. A key that the format does not have is an error, because the store would lose a value that a
// newer version has written there. The store writes its whole state each time, so a file may have at most
// kMaxQuotaYamlBytes.
//
// If a file cannot be read, the error says at which place, and the store does not change the file. An empty file (0
// bytes) is an error too, because a write must have been cut off. If the file is missing, the store starts empty, and
// makes the directory. To write, the store makes a file under another name, syncs it, and renames it; if that fails,
// the old file stays. A lock file beside it lets only one process at a time open the file. Another process gets an
// error that names the first, if the lock file says which it is.
//
// Persist writes the file. A thread of the store calls it after every `persist_every` if something has changed. If
// writing takes long, the thread calls it less often, so that it spends at most a fifth of the time on writing. If
// something has changed since, the destructor calls Persist for the last time, and cannot report a failure.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "config/mutex.h"
#include "throttle/limits/quota/memory_store.h"

namespace weir {

struct YamlStoreOptions {
  MemoryStoreOptions memory;
  Duration persist_every = std::chrono::seconds(1);  // 0: only Persist, and the destructor, write the file
};

// The most bytes that a file may have.
inline constexpr size_t kMaxQuotaYamlBytes = size_t{64} << 20;

class YamlStateFile;

class YamlQuotaStore final : public MemoryQuotaStore {
 public:
  // Opens the store. The error says what is wrong with the file, or which process has it open. `clock` is as for a
  // MemoryQuotaStore.
  static Result<std::unique_ptr<YamlQuotaStore>> Open(const std::string& path, YamlStoreOptions options = {},
                                                      const WallClock& clock = WallClock::System());
  ~YamlQuotaStore() override;

  std::string name() const override;
  ChargeAnswer Run(const Charge& charge) override;
  SettlementAnswer Run(const Settlement& settlement) override;
  Status SetQuota(std::string_view model, std::optional<ModelQuota> quota) override;
  Status StateQuota(std::string_view model, const ModelQuota& quota) override;
  Status Reset(std::string_view model) override;
  Status Import(const QuotaState& state) override;
  Status Persist() override;
  // In the result, `problem` says why the last Persist failed; it is empty if that did not fail.
  StoreHealth Health() const override;

 private:
  YamlQuotaStore(std::unique_ptr<YamlStateFile> file, const YamlStoreOptions& options, const WallClock& clock);
  // Records that the state has changed since the file was written.
  void Changed();
  bool IsChanged() const;
  void PersistUntil(const std::stop_token& stop);

  const std::unique_ptr<YamlStateFile> file_;
  const Duration persist_every_;
  std::atomic<bool> changed_{false};
  // The number of reservations that had expired when the file was written. Any call may find that more have expired.
  std::atomic<uint64_t> expired_written_{0};
  Mutex writing_;  // one Persist at a time
  mutable Mutex problem_mutex_;
  std::string problem_ WEIR_GUARDED_BY(problem_mutex_);
  std::condition_variable_any pause_;
  std::jthread persister_;
};

// Read and write the format of the file. `file` is the name of the file, for errors.
Result<QuotaState> ReadQuotaYaml(std::string_view text, std::string_view file);
std::string WriteQuotaYaml(const QuotaState& state);

}  // namespace weir
