// The functions of RedisQuotaStore for quotas, and those over all models.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "throttle/limits/quota/redis/redis_store_rep.h"

namespace weir {
namespace {

using KnownModel = RedisMessages::KnownModel;

constexpr size_t kModelsAtOnce = 128;

std::vector<std::string> NamesOf(std::span<const KnownModel> known) {
  std::vector<std::string> names;
  for (const KnownModel& one : known)
    if (!one.model.empty()) names.push_back(one.model);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// Passes at most as many items at once as a server can answer in time.
template <typename Item, typename Do>
Status InParts(std::span<Item> all, Do one_part) {
  while (!all.empty()) {
    const size_t count = std::min(all.size(), kModelsAtOnce);
    if (Status done = one_part(all.first(count)); !done.ok()) return done;
    all = all.subspan(count);
  }
  return {};
}

// Returns a charge of nothing: it releases what has expired, and its answer says what counts, and the time.
Charge Peek(std::string_view model) { return {.model = model, .requests = 0}; }
std::optional<RedisMessages::Charged> ParsePeek(const RedisOutcome& outcome, size_t tiers = 0) {
  if (!IsGood(outcome)) return {};
  return RedisMessages::ParseCharge(*outcome.reply, tiers, {});
}

}  // namespace

Status RedisQuotaStore::SetQuota(std::string_view model, std::optional<ModelQuota> quota) {
  if (quota) {
    if (Status checked = CheckQuota(model, *quota); !checked.ok()) return checked;
  }
  return rep_->ChangeInTurn({rep_->messages.FormatSetQuota(model, quota, false)});
}

Status RedisQuotaStore::StateQuota(std::string_view model, const ModelQuota& quota) {
  if (Status checked = CheckQuota(model, quota); !checked.ok()) return checked;
  return rep_->ChangeInTurn({rep_->messages.FormatSetQuota(model, quota, true)});
}

Result<std::vector<std::string>> RedisQuotaStore::StatedByConfiguration() {
  const Result<std::vector<KnownModel>> found = rep_->FindModels();
  if (!found.ok()) return found.status();
  std::vector<std::string> models;
  for (const KnownModel& one : found.value())
    if (one.why == KnownModel::Why::kStatedByConfiguration) models.push_back(one.model);
  std::ranges::sort(models);
  return models;
}

Status RedisQuotaStore::Reset(std::string_view model) {
  if (!model.empty()) return rep_->ChangeInTurn({rep_->messages.FormatReset(model)});
  const Result<std::vector<KnownModel>> found = rep_->FindModels();
  if (!found.ok()) return found.status();
  if (Status unlinked = rep_->AskInTurn(rep_->FormatUnlinksAcross(found.value())); !unlinked.ok()) return unlinked;
  std::vector<RedisMessages::Command> resets;
  for (const std::string& one : NamesOf(found.value())) resets.push_back(rep_->messages.FormatReset(one));
  return rep_->ChangeInTurn(std::move(resets));
}

// Keys expire by themselves. Prune only releases expired reservations in counters for all models, because perhaps no
// other call asks for these counters, or for the models of the reservations.
void RedisQuotaStore::Prune() {
  if (!CountsAcrossModels()) return;
  const TierCharge across{.key = {}, .limit = {.amount = 1, .per = kMinute}, .of_all_models = true};
  Charge peek = Peek("-");
  peek.tiers = {&across, 1};
  for (uint64_t expired = 1; expired > 0;) {
    const std::optional<RedisMessages::Charged> charged =
        ParsePeek(rep_->core.Ask(rep_->messages.FormatCharge(peek, {})), peek.tiers.size());
    expired = charged ? charged->expired : 0;
    rep_->expired += expired;
  }
}

// Formats the deletion of the counters for all models. They are deleted first, so that resets of models release nothing
// there.
std::vector<RedisMessages::Command> RedisQuotaStore::Rep::FormatUnlinksAcross(std::span<const KnownModel> known) const {
  std::vector<RedisMessages::Command> commands = {messages.FormatUnlinkDue()};
  for (const KnownModel& one : known)
    if (!one.key.empty()) commands.push_back(messages.FormatUnlink(one.key));
  return commands;
}

Result<std::vector<std::string>> RedisQuotaStore::Models() {
  Result<ModelList> list = rep_->ListModels(true);
  if (!list.ok()) return list.status();
  return std::move(list).value().models;
}

Result<ModelList> RedisQuotaStore::ListModels() { return rep_->ListModels(false); }

Result<QuotaState> RedisQuotaStore::Export() {
  const Result<std::vector<KnownModel>> found = rep_->FindModels();
  if (!found.ok()) return found.status();
  const std::vector<std::string> models = NamesOf(found.value());
  QuotaState state;
  const Status read = InParts(std::span(models), [&](auto part) { return rep_->ReadStates(part, &state); });
  if (!read.ok()) return read;
  for (const KnownModel& one : found.value()) {
    const auto saved = state.find(one.model);
    if (saved != state.end() && saved->second.quota && one.why == KnownModel::Why::kStatedByConfiguration)
      saved->second.by_configuration = true;
  }
  return state;
}

Status RedisQuotaStore::Import(const QuotaState& state) {
  for (const auto& [model, counts] : state) {
    if (!counts.quota) continue;
    if (Status checked = CheckQuota(model, *counts.quota); !checked.ok()) return checked;
  }
  const Result<std::vector<KnownModel>> found = rep_->FindModels();
  if (!found.ok()) return found.status();
  const Result<WallTime> now = rep_->Now();
  if (!now.ok()) return now.status();
  if (Status unlinked = rep_->AskInTurn(rep_->FormatUnlinksAcross(found.value())); !unlinked.ok()) return unlinked;
  std::vector<RedisMessages::Command> restores;
  for (const std::string& model : NamesOf(found.value()))
    if (!state.contains(model)) restores.push_back(rep_->messages.FormatRestore(model, {}, now.value()));
  for (const auto& [model, counts] : state)
    restores.push_back(rep_->messages.FormatRestore(model, counts, now.value()));
  return rep_->ChangeInTurn(std::move(restores));
}

Status RedisQuotaStore::Rep::AskInTurn(std::span<const RedisMessages::Command> commands,
                                       std::vector<RedisMessages::Command>* left) {
  Status asked = InParts(commands, [&](auto part) -> Status {
    const std::vector<RedisOutcome> outcomes = core.AskAll({part.begin(), part.end()});
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (!IsGood(outcomes[i])) return Status::Error(Fail(outcomes[i]));
      if (left != nullptr && outcomes[i].reply->integer > 0) left->push_back(part[i]);
    }
    return {};
  });
  if (asked.ok()) Succeed();
  return asked;
}

Status RedisQuotaStore::Rep::ChangeInTurn(std::vector<RedisMessages::Command> commands) {
  Status changed;
  for (std::vector<RedisMessages::Command> left; changed.ok() && !commands.empty(); commands = std::exchange(left, {}))
    changed = AskInTurn(commands, &left);
  return changed;
}

Result<ModelList> RedisQuotaStore::Rep::ListModels(bool all) {
  ModelList list;
  std::string* const missing = all ? nullptr : &list.missing;
  const Result<std::vector<KnownModel>> found = FindModels(missing);
  if (!found.ok()) return found.status();
  const std::vector<std::string> names = NamesOf(found.value());
  std::map<std::string, WallTime> tiers;
  for (const KnownModel& one : found.value())
    if (one.why == KnownModel::Why::kTiers) tiers[one.model] = one.kept_until;
  Names kept;
  const Status asked =
      InParts(std::span(names), [&](auto part) { return KeepThoseThatCount(part, tiers, &kept, missing); });
  if (!asked.ok()) return asked;
  list.models.assign(kept.begin(), kept.end());
  return list;
}

// Keeps a model if a charge of nothing says that something counts for it, because its keys may outlive the last entry
// that counts.
Status RedisQuotaStore::Rep::KeepThoseThatCount(std::span<const std::string> models,
                                                const std::map<std::string, WallTime>& tiers, Names* kept,
                                                std::string* missing) {
  std::vector<RedisMessages::Command> commands;
  for (const std::string& model : models) commands.push_back(messages.FormatCharge(Peek(model), {}));
  const std::vector<RedisOutcome> outcomes = core.AskAll(std::move(commands));
  for (size_t i = 0; i < models.size(); ++i) {
    const std::optional<RedisMessages::Charged> charged = ParsePeek(outcomes[i]);
    if (!charged) {
      const std::string why = Fail(outcomes[i]);
      if (missing == nullptr) return Status::Error(why);
      kept->insert(models[i]);
      *missing = why;
      continue;
    }
    expired += charged->expired;
    const ModelUsage& usage = charged->answer.usage;
    const auto of_tiers = tiers.find(models[i]);
    const bool counts = usage.rpm > 0 || usage.tpm > 0 || usage.rpd > 0 || usage.open_reservations > 0 ||
                        (of_tiers != tiers.end() && of_tiers->second > charged->now);
    if (charged->answer.quota || counts) kept->insert(models[i]);
  }
  return {};
}

// Charges each model with nothing, which releases what has expired and says the time, and then reads the model's state.
Status RedisQuotaStore::Rep::ReadStates(std::span<const std::string> models, QuotaState* state) {
  std::vector<RedisMessages::Command> commands;
  for (const std::string& model : models) {
    commands.push_back(messages.FormatCharge(Peek(model), {}));
    commands.push_back(messages.FormatRead(model));
  }
  const std::vector<RedisOutcome> outcomes = core.AskAll(std::move(commands));
  for (size_t i = 0; i < models.size(); ++i) {
    const RedisOutcome& peeked = outcomes[2 * i];
    const RedisOutcome& read = outcomes[2 * i + 1];
    const std::optional<RedisMessages::Charged> charged = ParsePeek(peeked);
    if (!charged) return Status::Error(Fail(peeked));
    if (!IsGood(read)) return Status::Error(Fail(read));
    expired += charged->expired;
    if (std::optional<ModelState> found = RedisMessages::ParseState(*read.reply, charged->now))
      state->emplace(models[i], *std::move(found));
  }
  Succeed();
  return {};
}

Result<std::vector<KnownModel>> RedisQuotaStore::Rep::FindModels(std::string* missing) {
  const std::vector<RedisOutcome> outcomes = core.AskAll(messages.FormatModels());
  std::vector<KnownModel> models;
  size_t answered = 0;
  std::string why;
  for (const RedisOutcome& outcome : outcomes) {
    std::optional<std::vector<KnownModel>> some;
    if (IsGood(outcome)) some = messages.ParseModels(*outcome.reply);
    if (!some) {
      why = Fail(outcome);
      if (missing == nullptr) break;
      continue;
    }
    ++answered;
    models.insert(models.end(), std::move_iterator(some->begin()), std::move_iterator(some->end()));
  }
  if (why.empty()) {
    Succeed();
  } else if (missing != nullptr && answered > 0) {
    *missing = std::move(why);
  } else {
    return Status::Error(why);
  }
  return models;
}

Result<WallTime> RedisQuotaStore::Rep::Now() {
  if (options.clock) return options.clock->Now();
  // Asks for the script's time, with a model that does not exist.
  const RedisOutcome outcome = core.Ask(messages.FormatCharge(Peek("-"), {}));
  const std::optional<RedisMessages::Charged> charged = ParsePeek(outcome);
  if (!charged) return Status::Error(Fail(outcome));
  Succeed();
  return charged->now;
}

}  // namespace weir
