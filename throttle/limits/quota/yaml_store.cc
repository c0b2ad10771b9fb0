#include "throttle/limits/quota/yaml_store.h"

#include <chrono>
#include <utility>

#include "throttle/limits/quota/yaml_state_file.h"

namespace weir {

Result<std::unique_ptr<YamlQuotaStore>> YamlQuotaStore::Open(const std::string& path, YamlStoreOptions options,
                                                             const WallClock& clock) {
  Result<std::unique_ptr<YamlStateFile>> file = YamlStateFile::Take(path);
  if (!file.ok()) return file.status();
  Result<std::optional<std::string>> text = file.value()->Read(kMaxQuotaYamlBytes);
  if (!text.ok()) return text.status();
  Result<QuotaState> state = QuotaState();
  if (text.value()) state = ReadQuotaYaml(*text.value(), path);
  if (!state.ok()) return state.status();
  std::unique_ptr<YamlQuotaStore> store(new YamlQuotaStore(std::move(file).value(), options, clock));
  Status imported = store->MemoryQuotaStore::Import(state.value());
  if (!imported.ok()) return imported;
  if (options.persist_every > Duration::zero())
    store->persister_ = std::jthread([&self = *store](const std::stop_token& stop) { self.PersistUntil(stop); });
  return store;
}

YamlQuotaStore::YamlQuotaStore(std::unique_ptr<YamlStateFile> file, const YamlStoreOptions& options,
                               const WallClock& clock)
    : MemoryQuotaStore(options.memory, clock), file_(std::move(file)), persist_every_(options.persist_every) {}

YamlQuotaStore::~YamlQuotaStore() {
  persister_ = {};  // stopped and joined
  // Expires reservations first, because expired ones would be written to the file as use.
  for (bool more = true; more;) {
    const uint64_t before = MemoryQuotaStore::Health().expired_reservations;
    MemoryQuotaStore::Prune();
    more = MemoryQuotaStore::Health().expired_reservations != before;
  }
  if (IsChanged()) (void)Persist();  // there is no caller left that could handle the error
}

std::string YamlQuotaStore::name() const { return "yaml:" + file_->path(); }

// Reads the flag first, because most calls find it set, and a write would take the cache line from the other cores.
void YamlQuotaStore::Changed() {
  if (!changed_.load(std::memory_order_relaxed)) changed_.store(true);
}

bool YamlQuotaStore::IsChanged() const {
  return changed_.load() || MemoryQuotaStore::Health().expired_reservations != expired_written_.load();
}

ChargeAnswer YamlQuotaStore::Run(const Charge& charge) {
  ChargeAnswer answer = MemoryQuotaStore::Run(charge);
  if (answer.charged) Changed();
  return answer;
}

SettlementAnswer YamlQuotaStore::Run(const Settlement& settlement) {
  SettlementAnswer answer = MemoryQuotaStore::Run(settlement);
  if (answer.code == SettlementAnswer::Code::kSettled && !answer.again) Changed();
  return answer;
}

Status YamlQuotaStore::SetQuota(std::string_view model, std::optional<ModelQuota> quota) {
  Status status = MemoryQuotaStore::SetQuota(model, quota);
  if (status.ok()) Changed();
  return status;
}

Status YamlQuotaStore::StateQuota(std::string_view model, const ModelQuota& quota) {
  Status status = MemoryQuotaStore::StateQuota(model, quota);
  if (status.ok()) Changed();
  return status;
}

Status YamlQuotaStore::Reset(std::string_view model) {
  Status status = MemoryQuotaStore::Reset(model);
  Changed();
  return status;
}

Status YamlQuotaStore::Import(const QuotaState& state) {
  Status status = MemoryQuotaStore::Import(state);
  if (status.ok()) Changed();
  return status;
}

Status YamlQuotaStore::Persist() {
  const MutexLock lock(writing_);
  // Resets the flag before it copies the state, so that the next Persist writes changes that come in between.
  changed_.store(false);
  expired_written_.store(MemoryQuotaStore::Health().expired_reservations);
  Status status;
  Result<QuotaState> state = Export();
  if (state.ok()) {
    const std::string text = WriteQuotaYaml(state.value());
    status = text.size() <= kMaxQuotaYamlBytes
                 ? file_->Replace(text)
                 : Status::Error(file_->path() + ": the state has grown to " + std::to_string(text.size()) +
                                 " bytes, a file may have " + std::to_string(kMaxQuotaYamlBytes) +
                                 "; the file from before stands; use a SQLite file (sqlite:PATH)");
  } else {
    status = state.status();
  }
  if (!status.ok()) changed_.store(true);
  const MutexLock problem_lock(problem_mutex_);
  problem_ = status.message();
  return status;
}

void YamlQuotaStore::PersistUntil(const std::stop_token& stop) {
  Mutex mutex;
  MutexLock lock(mutex);
  Duration pause = persist_every_;
  while (!stop.stop_requested()) {
    pause_.wait_for(lock, stop, pause, [] { return false; });
    if (stop.stop_requested() || !IsChanged()) continue;
    const auto start = std::chrono::steady_clock::now();
    (void)Persist();  // Health reports an error
    pause = std::max(persist_every_, 4 * Duration(std::chrono::steady_clock::now() - start));
  }
}

StoreHealth YamlQuotaStore::Health() const {
  StoreHealth health = MemoryQuotaStore::Health();
  const MutexLock lock(problem_mutex_);
  if (!problem_.empty()) health.problem = problem_;
  return health;
}

}  // namespace weir
