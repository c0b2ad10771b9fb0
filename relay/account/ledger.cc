#include "relay/account/ledger.h"

#include <algorithm>

namespace weir {

Ledger::Ledger(Bounds bounds, CountOwnBytes count_own_bytes)
    : bounds_(bounds), total_bytes_(bounds.total_bytes), count_own_bytes_(std::move(count_own_bytes)) {}

Ledger::~Ledger() = default;

std::shared_ptr<Account> Ledger::Open(uint64_t address, std::function<void()> give_up) {
  std::unique_ptr<Account> made;  // destroyed without the mutex, which its destructor locks
  const MutexLock lock(mutex_);
  auto found = addresses_.find(address);
  if (found == addresses_.end()) found = addresses_.emplace(address, std::make_unique<Address>()).first;
  std::vector<Account*>& accounts = found->second->accounts;
  if (accounts.size() == accounts.capacity()) accounts.reserve(2 * accounts.size() + 1);
  made.reset(new Account(*this, address, *found->second, std::move(give_up)));
  std::shared_ptr<Account> account(std::move(made));
  accounts.push_back(account.get());
  return account;
}

void Ledger::Close(Account& account) {
  const MutexLock lock(mutex_);
  std::erase(account.address_.accounts, &account);
  account.address_.waiting -=
      std::erase_if(account.address_.waiters, [&](const Waiter& w) { return w.account == &account; });
  if (account.address_.accounts.empty()) addresses_.erase(account.key_);
}

// Allocates nothing, because destructors call GiveBack.
void Ledger::WakeWaiters(Address& address) {
  constexpr size_t kLookedAt = 8;  // the waiters that one call checks; checking all of them could take too long
  const MutexLock lock(mutex_);
  std::list<Waiter>& waiters = address.waiters;
  for (size_t n = std::min(kLookedAt, waiters.size()); n > 0; --n) {
    const Waiter& first = waiters.front();
    if (!first.account->HasRoom(first.bytes)) {
      waiters.splice(waiters.end(), waiters, waiters.begin());
      continue;
    }
    try {
      first.tell();
    } catch (...) {  // out of memory; the waiter also checks from time to time
    }
    waiters.pop_front();
  }
  address.waiting = waiters.size();
}

void Ledger::Count(int64_t bytes, Memory memory) const {
  if (memory == Memory::kShared || !count_own_bytes_) return;
  count_own_bytes_(bytes, memory == Memory::kWaiting ? OwnUse::kWaiting : OwnUse::kHeld);
}

uint64_t Ledger::heaviest_bytes() const {
  const MutexLock lock(mutex_);
  uint64_t most = 0;
  for (const auto& [key, address] : addresses_) most = std::max(most, address->bytes.load(std::memory_order_relaxed));
  return most;
}

std::vector<Ledger::Holder> Ledger::Heaviest(size_t most) const {
  std::vector<Holder> holders;
  {
    const MutexLock lock(mutex_);
    for (const auto& [key, address] : addresses_)
      if (const uint64_t bytes = address->bytes.load(std::memory_order_relaxed); bytes > 0)
        holders.push_back({key, bytes});
  }
  most = std::min(most, holders.size());
  std::ranges::partial_sort(holders, holders.begin() + static_cast<std::ptrdiff_t>(most), std::greater<>(),
                            &Holder::bytes);
  holders.resize(most);
  return holders;
}

uint64_t Ledger::AskHeaviest(uint64_t bytes) {
  const MutexLock lock(mutex_);
  const auto heaviest = std::max_element(addresses_.begin(), addresses_.end(), [](const auto& a, const auto& b) {
    return a.second->bytes.load() < b.second->bytes.load();
  });
  if (heaviest == addresses_.end()) return 0;
  std::vector<std::pair<uint64_t, Account*>> accounts;
  for (Account* account : heaviest->second->accounts)
    if (account->bytes() > 0 && account->give_up_) accounts.emplace_back(account->bytes(), account);
  std::sort(accounts.rbegin(), accounts.rend());
  uint64_t asked = 0;
  for (const auto& [held, account] : accounts) {
    if (asked >= bytes) break;
    asked += held;
    account->give_up_();
  }
  return asked;
}

Account::Account(Ledger& ledger, uint64_t key, Ledger::Address& address, std::function<void()> give_up)
    : ledger_(ledger), key_(key), address_(address), give_up_(std::move(give_up)) {}

Account::~Account() { ledger_.Close(*this); }

uint64_t Account::most_address_bytes() const {
  const uint64_t all = ledger_.total_bytes_.load(std::memory_order_relaxed);
  const uint64_t free = all - std::min(all, ledger_.bytes());
  return std::min(ledger_.bounds_.address_bytes, std::max(ledger_.bounds_.always_bytes, free));
}

bool Account::TryTake(uint64_t bytes, Memory memory) {
  Take(bytes, memory);
  if (address_bytes() <= most_address_bytes()) return true;
  GiveBack(bytes, memory);
  return false;
}

void Account::Take(uint64_t bytes, Memory memory) {
  if (bytes == 0) return;
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  address_.bytes.fetch_add(bytes, std::memory_order_relaxed);
  ledger_.bytes_.fetch_add(bytes, std::memory_order_relaxed);
  ledger_.Count(static_cast<int64_t>(bytes), memory);
}

void Account::GiveBack(uint64_t bytes, Memory memory) {
  if (bytes == 0) return;
  bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  address_.bytes.fetch_sub(bytes, std::memory_order_relaxed);
  ledger_.bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  ledger_.Count(-static_cast<int64_t>(bytes), memory);
  if (address_.waiting.load(std::memory_order_relaxed) > 0) ledger_.WakeWaiters(address_);
}

void Account::WhenRoom(uint64_t bytes, std::function<void()> tell) {
  const MutexLock lock(ledger_.mutex_);
  address_.waiters.push_back({this, bytes, std::move(tell)});
  ++address_.waiting;
}

}  // namespace weir
