// YamlQuotaStore: a MemoryQuotaStore that writes its quotas and its counters to a file. The format is that of another,
// published program:
//
//   quotas:                                    state:
//     gpt-4o:                                    gpt-4o:
//       max_rpm: 500                               requests: [2026-02-20T14:32:01.123456789Z]
//       max_tpm: 30000                             tokens: [{time: 2026-02-20T14:32:01.123456789Z, count: 1500}]
//       max_rpd: 0                                 day_start: 2026-02-20T00:00:00Z
//                                                  day_count: 42
//
// weir adds `stated_by_configuration: [gpt-4o]`, which only weir reads: the models whose quotas a configuration stated.
//
// A file of that format is read, and is written back with the same content. An entry of several requests, made at
// nearly the same time, is written as {time, count}, which only weir reads. Counters of tiers and open reservations are
// not written: what an open reservation has charged for its model is written as used. A key that the format does not
// have is an error, because a value that a newer version has written there would be lost. The whole state is written
// each time, so a file may have at most kMaxQuotaYamlBytes.
//
// If a file cannot be read, the error says where, and the file stays as it is. An empty file (0 bytes) is an error too,
// because it must have been cut off. A missing file is an empty state; its directory is made. The file is written under
// another name, synced, and renamed; if that fails, the old file stays. One process at a time holds the file (by a lock
// beside it); another process gets an error that names the holder.
//
// Persist writes the file. A thread of the store calls it after every `persist_every` if something has changed (less
// often if writing takes long: at most a fifth of the time is spent on it). The destructor calls Persist for the last
// time, and cannot report a failure.
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
  Duration persist_every = std::chrono::seconds(1);  // 0: only Persist and the destructor write
};

// The most bytes of a file.
inline constexpr size_t kMaxQuotaYamlBytes = size_t{64} << 20;

class YamlStateFile;

class YamlQuotaStore final : public MemoryQuotaStore {
 public:
  // Opens the store. The error says what is wrong with the file, or which process holds it. `clock` must outlive the
  // store.
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
  // `problem` says why the last Persist failed; empty: it did not.
  StoreHealth Health() const override;

 private:
  YamlQuotaStore(std::unique_ptr<YamlStateFile> file, const YamlStoreOptions& options, const WallClock& clock);
  // Notes that the file is no longer up to date.
  void Changed();
  bool IsChanged() const;
  void PersistUntil(const std::stop_token& stop);

  const std::unique_ptr<YamlStateFile> file_;
  const Duration persist_every_;
  std::atomic<bool> changed_{false};
  // How many reservations had expired when the file was written. Any call may find more of them.
  std::atomic<uint64_t> expired_written_{0};
  std::mutex writing_;  // one Persist at a time
  mutable std::mutex problem_mutex_;
  std::string problem_;
  std::condition_variable_any pause_;
  std::jthread persister_;
};

// Read and write the format. `file` is the name of the file, for errors.
Result<QuotaState> ReadQuotaYaml(std::string_view text, std::string_view file);
std::string WriteQuotaYaml(const QuotaState& state);

}  // namespace weir
