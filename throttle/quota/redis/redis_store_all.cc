// Quotas, and all that there is.
#include <algorithm>
#include <iterator>
#include <map>

#include "throttle/quota/redis/redis_store_rep.h"

namespace weir {
namespace {

constexpr size_t kModelsAtOnce = 128;
constexpr size_t kTiersAtOnce = 100;

}  // namespace

Status RedisQuotaStore::SetQuota(std::string_view model, std::optional<ModelQuota> quota) {
  if (quota) {
    if (Status checked = CheckQuota(model, *quota); !checked.ok()) return checked;
  }
  return rep_->AskInTurn({rep_->messages.FormatSetQuota(model, quota)});
}

Status RedisQuotaStore::Reset(std::string_view model) {
  if (!model.empty()) return rep_->AskInTurn({rep_->messages.FormatReset(model)});
  const Result<std::vector<std::string>> models = rep_->FindModels();
  if (!models.ok()) return models.status();
  std::vector<RedisMessages::Command> commands;
  for (const std::string& one : models.value()) commands.push_back(rep_->messages.FormatReset(one));
  return rep_->AskInTurn(std::move(commands));
}

Result<std::vector<std::string>> RedisQuotaStore::Models() {
  const Result<std::vector<std::string>> found = rep_->FindModels();
  if (!found.ok()) return found.status();
  Rep::Names kept;
  Rep::Names others;
  std::span<const std::string> left = found.value();
  while (!left.empty()) {
    const size_t count = std::min(left.size(), kModelsAtOnce);
    if (Status done = rep_->KeepThoseThatCount(left.first(count), &kept, &others); !done.ok()) return done;
    left = left.subspan(count);
  }
  if (Status done = rep_->KeepThoseWithTiers(others, &kept); !done.ok()) return done;
  return std::vector<std::string>(kept.begin(), kept.end());
}

Result<QuotaState> RedisQuotaStore::Export() {
  const Result<std::vector<std::string>> models = rep_->FindModels();
  if (!models.ok()) return models.status();
  QuotaState state;
  std::span<const std::string> left = models.value();
  while (!left.empty()) {
    const size_t count = std::min(left.size(), kModelsAtOnce);
    const Status read = rep_->ReadStates(left.first(count), &state);
    if (!read.ok()) return read;
    left = left.subspan(count);
  }
  return state;
}

Status RedisQuotaStore::Import(const QuotaState& state) {
  for (const auto& [model, counts] : state) {
    if (!counts.quota) continue;
    if (Status checked = CheckQuota(model, *counts.quota); !checked.ok()) return checked;
  }
  const Result<std::vector<std::string>> models = rep_->FindModels();
  if (!models.ok()) return models.status();
  const Result<WallTime> now = rep_->Now();
  if (!now.ok()) return now.status();
  std::vector<RedisMessages::Command> commands;
  for (const std::string& model : models.value())
    if (!state.contains(model)) commands.push_back(rep_->messages.FormatRestore(model, {}, now.value()));
  for (const auto& [model, counts] : state)
    commands.push_back(rep_->messages.FormatRestore(model, counts, now.value()));
  return rep_->AskInTurn(std::move(commands));
}

Status RedisQuotaStore::Rep::AskInTurn(std::vector<RedisMessages::Command> commands) {
  for (size_t at = 0; at < commands.size(); at += kModelsAtOnce) {
    const auto from = commands.begin() + static_cast<std::ptrdiff_t>(at);
    const auto to = commands.begin() + static_cast<std::ptrdiff_t>(std::min(commands.size(), at + kModelsAtOnce));
    for (const RedisOutcome& outcome : core.AskAll({std::move_iterator(from), std::move_iterator(to)}, {}))
      if (!IsGood(outcome)) return Status::Error(Fail(outcome));
  }
  Succeed();
  return {};
}

// By what a charge of nothing says of each: its keys may stand for a while after the last entry that counts.
Status RedisQuotaStore::Rep::KeepThoseThatCount(std::span<const std::string> models, Names* kept, Names* others) {
  std::vector<RedisMessages::Command> commands;
  for (const std::string& model : models)
    commands.push_back(messages.FormatCharge({.model = model, .requests = 0}, {}));
  const std::vector<RedisOutcome> outcomes = core.AskAll(std::move(commands), {});
  for (size_t i = 0; i < models.size(); ++i) {
    std::optional<RedisMessages::Charged> charged;
    if (IsGood(outcomes[i])) charged = RedisMessages::ParseCharge(*outcomes[i].reply, 0, {});
    if (!charged) return Status::Error(Fail(outcomes[i]));
    expired += charged->expired;
    const ModelUsage& usage = charged->answer.usage;
    const bool counts = usage.rpm > 0 || usage.tpm > 0 || usage.rpd > 0 || usage.open_reservations > 0;
    (charged->answer.quota || counts ? kept : others)->insert(models[i]);
  }
  Succeed();
  return {};
}

// The keys of tiers may be many: only those of the models that count by nothing else are looked for.
Status RedisQuotaStore::Rep::KeepThoseWithTiers(const Names& others, Names* kept) {
  if (others.empty()) return {};
  std::map<std::string, Names> tiers;  // the keys by model
  Status done = FindKeys([&](const std::string& key) {
    std::optional<std::string> model = messages.ModelOf(key);
    if (model && others.contains(*model) && RedisMessages::IsTierKey(key)) tiers[*std::move(model)].insert(key);
  });
  if (!done.ok()) return done;
  for (const auto& [model, of_model] : tiers) {
    const std::vector<std::string> keys(of_model.begin(), of_model.end());
    std::span<const std::string> left = keys;
    while (!left.empty() && !kept->contains(model)) {
      const size_t count = std::min(left.size(), kTiersAtOnce);
      const RedisOutcome outcome = core.Ask(messages.FormatTiersCount(model, left.first(count)));
      if (!IsGood(outcome)) return Status::Error(Fail(outcome));
      if (outcome.reply->type == REDIS_REPLY_INTEGER && outcome.reply->integer == 1) kept->insert(model);
      left = left.subspan(count);
    }
  }
  return {};
}

// Each model is asked for its state, which gives back what has expired, and says the time; and is then read.
Status RedisQuotaStore::Rep::ReadStates(std::span<const std::string> models, QuotaState* state) {
  std::vector<RedisMessages::Command> commands;
  for (const std::string& model : models) {
    commands.push_back(messages.FormatCharge({.model = model, .requests = 0}, {}));
    commands.push_back(messages.FormatRead(model));
  }
  const std::vector<RedisOutcome> outcomes = core.AskAll(std::move(commands), {});
  for (size_t i = 0; i < models.size(); ++i) {
    const RedisOutcome& peeked = outcomes[2 * i];
    const RedisOutcome& read = outcomes[2 * i + 1];
    for (const RedisOutcome* outcome : {&peeked, &read})
      if (!IsGood(*outcome)) return Status::Error(Fail(*outcome));
    const std::optional<RedisMessages::Charged> charged = RedisMessages::ParseCharge(*peeked.reply, 0, {});
    if (!charged) return Status::Error(Fail(peeked));
    expired += charged->expired;
    if (std::optional<ModelState> found = RedisMessages::ParseState(*read.reply, charged->now))
      state->emplace(models[i], *std::move(found));
  }
  Succeed();
  return {};
}

Result<std::vector<std::string>> RedisQuotaStore::Rep::FindModels() {
  Names models;
  const Status done = FindKeys([&](const std::string& key) {
    if (std::optional<std::string> model = messages.ModelOf(key)) models.insert(*std::move(model));
  });
  if (!done.ok()) return done;
  return std::vector<std::string>(models.begin(), models.end());
}

Status RedisQuotaStore::Rep::FindKeys(const OnKey& on_key) {
  Result<RedisTopology::Servers> masters = core.Masters();
  if (!masters.ok()) return Status::Error(Fail({.problem = masters.status().message()}));
  Status done;
  for (const std::shared_ptr<RedisServer>& server : masters.value())
    if (done.ok()) done = FindKeysOf(server, on_key);
  core.Release(std::move(masters).value());
  if (done.ok()) Succeed();
  return done;
}

Status RedisQuotaStore::Rep::FindKeysOf(const std::shared_ptr<RedisServer>& server, const OnKey& on_key) {
  std::string cursor = "0";
  do {
    const RedisOutcome outcome = core.Ask({.text = messages.FormatScan(cursor)}, server);
    if (!IsGood(outcome)) return Status::Error(Fail(outcome));
    const redisReply& reply = *outcome.reply;
    if (reply.type != REDIS_REPLY_ARRAY || reply.elements != 2) return Status::Error(Fail(outcome));
    cursor = TextOf(*reply.element[0]);
    for (size_t i = 0; i < reply.element[1]->elements; ++i) on_key(std::string(TextOf(*reply.element[1]->element[i])));
  } while (cursor != "0");
  return {};
}

Result<WallTime> RedisQuotaStore::Rep::Now() {
  if (options.clock) return options.clock->Now();
  // The script's time, as a model that there is not is told it.
  const RedisOutcome outcome = core.Ask(messages.FormatCharge({.model = "-", .requests = 0}, {}));
  std::optional<RedisMessages::Charged> charged;
  if (IsGood(outcome)) charged = RedisMessages::ParseCharge(*outcome.reply, 0, {});
  if (!charged) return Status::Error(Fail(outcome));
  Succeed();
  return charged->now;
}

}  // namespace weir
