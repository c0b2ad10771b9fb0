// Ledger counts the bytes that each connection and each address makes the relay hold.
//
//   Ledger ledger({.address_bytes = 32 << 20}, count_own_bytes);
//   std::shared_ptr<Account> account = ledger.Open(connection.group(), [] { … post: close the connection … });
//   if (!account->TryTake(bytes)) …                      // refuse, and say why
//   HeldBytes held(account, bytes);                           // or: counted as long as it lives
//
// Each connection has an account, and the accounts of one address share its bound, so a client gets no more by opening
// more connections. An address may hold no more than is still free for all: a few addresses can have their whole bound,
// many have less each, and there is always something left for the next one. All memory held for a client is counted
// where it is held: filters, ranges, records, live events that wait, output. Memory that several accounts hold together
// (Memory::kShared) counts for each of them; the code that made it counts it once as memory of the program.
//
// A connection that lacks room for what it is about to read can wait for it: WhenRoom. When memory runs out, the
// address that holds most gives back first: AskHeaviest.
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
  kOwn,      // held by this account alone: it counts as memory of the program as well
  kWaiting,  // like kOwn, but held by work that waits for its turn: no limit is judged by it (monitors/own_bytes.h)
  kShared,   // counted as memory of the program by the code that made it
};

class Account;

class Ledger {
 public:
  struct Bounds {
    uint64_t address_bytes = UINT64_MAX;
    uint64_t total_bytes = UINT64_MAX;  // bound of all addresses together, shared or own memory
    uint64_t always_bytes = 0;          // an address may hold this much, however much the others hold
  };

  // `count_own_bytes` is called for every change of the bytes that count as memory of the program.
  explicit Ledger(Bounds bounds, CountOwnBytes count_own_bytes = {});
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Sets Bounds::total_bytes, for a caller that learns it only after it made the ledger.
  void BoundTotal(uint64_t bytes) { total_bytes_ = bytes; }

  // Opens an account of this address. `give_up` is called when the owner should give back all that it can. It may be
  // called from any thread and several times, but never after the account is closed; it should only hand over to
  // another thread.
  std::shared_ptr<Account> Open(uint64_t address, std::function<void()> give_up = {});

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Returns the bytes of the address that holds most; 0 if no address holds anything.
  uint64_t heaviest_bytes() const;
  struct Holder {
    uint64_t address = 0;
    uint64_t bytes = 0;
  };
  // Returns at most `most` addresses, those that hold most first.
  std::vector<Holder> Heaviest(size_t most) const;

  // Asks accounts of the address that holds most to give up, the largest first, until those asked hold at least `bytes`
  // together. Returns the bytes that they hold.
  uint64_t AskHeaviest(uint64_t bytes);

 private:
  friend class Account;
  // An account that waits for room for so many bytes.
  struct Waiter {
    Account* account;
    uint64_t bytes;
    std::function<void()> tell;
  };
  struct Address {
    std::atomic<uint64_t> bytes{0};
    std::vector<Account*> accounts;  // protected by the ledger's mutex, as are the waiters
    std::list<Waiter> waiters;
    std::atomic<size_t> waiting{0};  // the number of waiters
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

  // Returns false, and takes nothing, if the address would hold more than its bound or more than would be left free for
  // others.
  bool TryTake(uint64_t bytes, Memory memory = Memory::kOwn);
  // Counts bytes that are held already, whatever the bounds.
  void Take(uint64_t bytes, Memory memory = Memory::kOwn);
  void GiveBack(uint64_t bytes, Memory memory = Memory::kOwn);

  // Returns true if the address may hold so many bytes more. TryTake can still refuse them: it compares with what is
  // free after they are taken.
  bool HasRoom(uint64_t bytes) const { return address_bytes() + bytes <= most_address_bytes(); }
  // Calls `tell` once, when a thread gives back bytes of the same address and there is room. Another account may take
  // that room first, and room that other addresses make is not reported: the caller has to look for it. `tell` is
  // called under the ledger's mutex, never after the account is closed, and should only hand over to another thread.
  void WhenRoom(uint64_t bytes, std::function<void()> tell);

  // Opens another account of the same address, for memory that no single connection of it holds.
  std::shared_ptr<Account> OpenBeside(std::function<void()> give_up) const {
    return ledger_.Open(key_, std::move(give_up));
  }

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  uint64_t address_bytes() const { return address_.bytes.load(std::memory_order_relaxed); }
  // Bytes that the address may hold now.
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

// Bytes that are counted as long as this lives.
class HeldBytes {
 public:
  HeldBytes() = default;
  HeldBytes(std::shared_ptr<Account> account, uint64_t bytes, Memory memory = Memory::kOwn)
      : account_(std::move(account)), bytes_(bytes), memory_(memory) {
    account_->Take(bytes_, memory_);
  }
  // Returns nullopt if that is more than the account's bounds allow.
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
