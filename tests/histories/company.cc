#include "tests/histories/company.h"

#include <algorithm>
#include <utility>

#include "config/text/hex.h"

namespace weir::histories {
namespace {

using namespace std::chrono_literals;

constexpr int kTopicsAtOnce = 6;
constexpr Time kTopicLife = 10s;
constexpr size_t kMostRemoved = 200;
constexpr size_t kNewlyRemoved = 10;  // half of the removed events that are sent again are among these
constexpr size_t kMostVersions = 4;   // the latest ones of an address

}  // namespace

Company::Company(Recorder& its_recorder, Plant& its_plant, std::vector<uint16_t> its_ports, uint64_t its_seed)
    : recorder(its_recorder), plant(its_plant), ports(std::move(its_ports)), seed(its_seed) {
  for (int n = 0; n < kCommonAuthors; ++n) common_.push_back(NewAuthor());
}

std::shared_ptr<const Company::Author> Company::NewAuthor() {
  const MutexLock lock(mutex_);
  const int number = static_cast<int>(keys_.size());
  auto author = std::make_shared<Author>(Author{number, Signer(seed * 1000003 + static_cast<uint64_t>(number))});
  keys_.push_back(ToHex(author->signer.pubkey()));
  newest_author = number;
  return author;
}

std::string Company::FilterOf(const Selection& selection) const {
  std::string filter = "{";
  if (selection.topic != kAny) filter += "\"#t\":[\"h" + std::to_string(selection.topic) + "\"],";
  if (selection.kind != kAny) filter += "\"kinds\":[" + std::to_string(selection.kind) + "],";
  const MutexLock lock(mutex_);
  if (selection.author != kAny) filter += "\"authors\":[\"" + keys_[static_cast<size_t>(selection.author)] + "\"],";
  return filter + "\"limit\":5000}";
}

int Company::Topic(std::mt19937_64& random) const {
  return static_cast<int>(recorder.Now() / kTopicLife) * kTopicsAtOnce + static_cast<int>(random() % kTopicsAtOnce);
}

std::vector<Selection> Company::FinalSelections() const {
  std::vector<Selection> all;
  const int topics = (static_cast<int>(recorder.Now() / kTopicLife) + 1) * kTopicsAtOnce;
  for (int topic = 0; topic < topics; ++topic) all.push_back({.topic = topic});
  for (int author = 0; author <= newest_author; ++author) all.push_back({.author = author});
  return all;
}

void Company::AddRemoved(Sendable event) {
  const MutexLock lock(mutex_);
  removed_.push_back(std::move(event));
  if (removed_.size() > kMostRemoved) removed_.pop_front();
}

Company::Sendable Company::AnyRemoved(std::mt19937_64& random) const {
  const MutexLock lock(mutex_);
  if (removed_.empty()) return {};
  const size_t among = random() % 2 == 0 ? std::min(removed_.size(), kNewlyRemoved) : removed_.size();
  return removed_[removed_.size() - 1 - random() % among];
}

void Company::AddVersion(int address, Sendable event) {
  const MutexLock lock(mutex_);
  std::deque<Sendable>& versions = versions_[address];
  versions.push_back(std::move(event));
  if (versions.size() > kMostVersions) versions.pop_front();
}

void Company::RemoveVersions(int address) {
  std::deque<Sendable> versions;
  {
    const MutexLock lock(mutex_);
    versions.swap(versions_[address]);
  }
  for (Sendable& version : versions) AddRemoved(std::move(version));
}

}  // namespace weir::histories
