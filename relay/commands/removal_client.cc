#include "relay/commands/removal_client.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "config/text/readable.h"
#include "relay/store/group_commit.h"
#include "relay/store/storage/storage.h"

namespace weir {
namespace {

class RemovalsOfRelay final : public RemovalClient {
 public:
  explicit RemovalsOfRelay(RunningRelay relay) : relay_(std::move(relay)) {}

  Result<RemovalState> Begin(const RemovalOrder& order) override {
    const Result<ManagementAnswer> answer = relay_.Call("removeevents", {ToJson(order)});
    if (!answer.ok()) return answer.status();
    return ReadState(answer.value().result);
  }
  Result<RemovalState> Look(uint64_t id) override {
    const Result<std::vector<std::string>> items = relay_.List("listeventremovals");
    if (!items.ok()) return items.status();
    for (const std::string& item : items.value()) {
      Result<RemovalState> state = ReadState(item);
      if (!state.ok() || state.value().id == id) return state;
    }
    return Status::Error("the relay was started again, which has ended the removal");
  }
  void Cancel(uint64_t id) override { (void)relay_.Call("cancelremoval", {std::to_string(id)}).ok(); }

 private:
  const RunningRelay relay_;
};

class RemovalsOfProcess final : public RemovalClient {
 public:
  explicit RemovalsOfProcess(std::unique_ptr<Storage> storage)
      : storage_(std::move(storage)),
        commit_(
            storage_->store(), [](GroupCommit::Submissions, const Status&) {}, {}, WallClock::System(),
            AdmitAsBulk(storage_->limiter(), Operation::kWrite)),
        jobs_(storage_->store(), AdmitAsBulk(storage_->limiter(), Operation::kRead),
              [this](std::span<const EventId> ids, const std::atomic<bool>& cancelled) {
                return commit_.RemoveBulk(ids, &cancelled);
              }) {}

  Result<RemovalState> Begin(const RemovalOrder& order) override { return jobs_.Begin(order, "the command line"); }
  Result<RemovalState> Look(uint64_t id) override {
    const std::vector<RemovalState> states = jobs_.List();
    const auto found = std::ranges::find(states, id, &RemovalState::id);
    if (found == states.end()) return Status::Error("there is no removal " + std::to_string(id));
    return *found;
  }
  void Cancel(uint64_t id) override { jobs_.Cancel(id); }

 private:
  const std::unique_ptr<Storage> storage_;
  GroupCommit commit_;
  RemovalJobs jobs_;
};

}  // namespace

std::unique_ptr<RemovalClient> RemovalsOf(RunningRelay relay) {
  return std::make_unique<RemovalsOfRelay>(std::move(relay));
}

Result<std::unique_ptr<RemovalClient>> RemovalsHere(const RelayConfiguration& configuration) {
  const Result<std::string> identity = IdentityOf(configuration.storage, configuration.data_dir);
  if (!identity.ok()) return identity.status();
  if (identity.value().empty()) return Status::Error("there is no database in " + AsText(configuration.data_dir));
  StorageOptions options{.settings = configuration.storage, .data_dir = configuration.data_dir, .for_import = true};
  if (!configuration.relay.url.empty()) options.own_urls.push_back(configuration.relay.url);
  Result<std::unique_ptr<Storage>> storage = Storage::Open(options);
  if (!storage.ok()) return storage.status();
  return std::unique_ptr<RemovalClient>(std::make_unique<RemovalsOfProcess>(std::move(storage).value()));
}

}  // namespace weir
