// Ledger: who makes the relay hold how many bytes.
//
//   Ledger ledger({.address_bytes = 32 << 20}, count_own_bytes);
//   std::shared_ptr<Account> account = ledger.Open(connection.group(), [] { … post: close the connection … });
//   if (!account->TryTake(bytes)) …                      // refuse, and say why
//   HeldBytes held(account, bytes);                           // or: counted as long as it lives
//
// Each connection has an account, and the accounts of one address share its bound, so that nobody gets more by coming
// often. An address may hold no more than is still free for all: a few may have their whole bound, of many each has
// less, and there is always something left for who comes next. Whatever is held for a stranger is counted where it is
// held: filters, ranges, records, live events that wait, output. What several hold together (Memory::kShared) counts
// for each of them, but only once, by whoever made it, as memory of the program.
//
// A connection that lacks room for what it is about to read can wait for it: WhenRoom. When memory runs out, who holds
// most gives first: AskHeaviest.
//
// Threads: all functions may be called from any thread. Accounts may outlive the connection, not the ledger.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "monitors/own_bytes.h"

namespace weir {

enum class Memory : uint8_t {
  kOwn,      // nobody else holds it: it counts as memory of the program as well
  kWaiting,  // as kOwn, and held by what waits for its turn: no limit is judged by it (monitors/own_bytes.h)
  kShared,   // counted as memory of the program by whoever made it
};

class Account;

class Ledger {
 public:
  struct Bounds {
    uint64_t address_bytes = UINT64_MAX;
    uint64_t total_bytes = UINT64_MAX;  // of what all addresses hold, shared or own
    uint64_t always_bytes = 0;          // an address may hold these, however much the others hold
  };

  // `count_own_bytes` is told of every change of what counts as memory of the program.
  explicit Ledger(Bounds bounds, CountOwnBytes count_own_bytes = {});
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // For who learns the total later than the rest.
  void BoundTotal(uint64_t bytes) { total_bytes_ = bytes; }

  // `give_up` is asked to give back all that it can. It may be asked from any thread and several times, never once the
  // account is closed; it should only hand over.
  std::shared_ptr<Account> Open(uint64_t address, std::function<void()> give_up = {});

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Of the address that holds most, and how many that is; 0 where nobody holds anything.
  uint64_t heaviest_bytes() const;
  // At most so many addresses, those that hold most first.
  struct Holder {
    uint64_t address = 0;
    uint64_t bytes = 0;
  };
  std::vector<Holder> Heaviest(size_t most) const;

  // Asks the accounts of the address that holds most, from the largest on, until they hold at least `bytes` together.
  // Returns what they hold.
  uint64_t AskHeaviest(uint64_t bytes);

 private:
  friend class Account;
  // Wants room for so many bytes.
  struct Waiter {
    Account* account;
    uint64_t bytes;
    std::function<void()> tell;
  };
  struct Address {
    std::atomic<uint64_t> bytes{0};
    std::vector<Account*> accounts;  // protected by the ledger's mutex, as are the waiters
    std::list<Waiter> waiters;
    std::atomic<size_t> waiting{0};  // their number
  };
  void Close(Account& account);
  void WakeWaiters(Address& address);
  void Count(int64_t bytes, Memory memory) const;

  const Bounds bounds_;
  std::atomic<uint64_t> total_bytes_;
  const CountOwnBytes count_own_bytes_;
  std::atomic<uint64_t> bytes_{0};
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<Address>> addresses_;
};

class Account {
 public:
  ~Account();
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  // False: the address would hold more than it may, or more than would be free for others, and nothing was taken.
  bool TryTake(uint64_t bytes, Memory memory = Memory::kOwn);
  // What is held already is counted, whatever the bounds.
  void Take(uint64_t bytes, Memory memory = Memory::kOwn);
  void GiveBack(uint64_t bytes, Memory memory = Memory::kOwn);

  // Whether TryTake would take them now.
  bool HasRoom(uint64_t bytes) const { return address_bytes() + bytes <= most_address_bytes(); }
  // `tell` is called once, by a thread that gives back something of the same address, when there is room: another
  // account may take it first, and room that other addresses make is for the caller to look for. It should only hand
  // over, is called under the ledger's mutex, and never once the account is closed.
  void WhenRoom(uint64_t bytes, std::function<void()> tell);

  // Another one of the same address, for what no single connection of it holds.
  std::shared_ptr<Account> OpenBeside(std::function<void()> give_up) const {
    return ledger_.Open(key_, std::move(give_up));
  }

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t address_bytes() const { return address_.bytes.load(std::memory_order_relaxed); }
  // What the address may hold now.
  uint64_t most_address_bytes() const;

 private:
  friend class Ledger;
  Account(Ledger& ledger, uint64_t key, Ledger::Address& address, std::function<void()> give_up);

  Ledger& ledger_;
  const uint64_t key_;
  Ledger::Address& address_;
  const std::function<void()> give_up_;
  std::atomic<uint64_t> bytes_{0};
};

// Bytes that count as long as this lives.
class HeldBytes {
 public:
  HeldBytes() = default;
  HeldBytes(std::shared_ptr<Account> account, uint64_t bytes, Memory memory = Memory::kOwn)
      : account_(std::move(account)), bytes_(bytes), memory_(memory) {
    account_->Take(bytes_, memory_);
  }
  // None where that is more than the account's bounds allow.
  static std::optional<HeldBytes> Try(std::shared_ptr<Account> account, uint64_t bytes, Memory memory = Memory::kOwn) {
    HeldBytes held(std::move(account), 0, memory);
    if (!held.TryAdd(bytes)) return std::nullopt;
    return held;
  }
  HeldBytes(HeldBytes&& other) noexcept
      : account_(std::move(other.account_)), bytes_(std::exchange(other.bytes_, 0)), memory_(other.memory_) {}
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(bytes_, other.bytes_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~HeldBytes() {
    if (account_) account_->GiveBack(bytes_, memory_);
  }

  bool TryAdd(uint64_t bytes) {
    if (!account_->TryTake(bytes, memory_)) return false;
    bytes_ += bytes;
    return true;
  }
  void GiveBack(uint64_t bytes) {
    account_->GiveBack(bytes, memory_);
    bytes_ -= bytes;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<Account> account_;
  uint64_t bytes_ = 0;
  Memory memory_ = Memory::kOwn;
};

}  // namespace weir
