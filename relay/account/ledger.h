// Ledger: counts and bounds the bytes of memory that the relay holds for each connection and each client address.
//
//   Ledger ledger({.address_bytes = 32 << 20}, count_own_bytes);
//   std::shared_ptr<Account> account = ledger.Open(connection.group(), [] { … post: close the connection … });
//   if (!account->TryTake(bytes)) …            // false: over the bounds; true: call GiveBack(bytes) later
//   auto held = HeldBytes::Try(account, bytes);  // nullopt if over the bounds; its destructor calls GiveBack
//   HeldBytes also_held(account, bytes);         // counts the bytes, even beyond the bounds
//
// Each connection has an account. The accounts of one address share its bounds, so a client gains no memory by opening
// more connections. TryTake lets an address hold at most Bounds::address_bytes, and at most as many bytes as are then
// still free of Bounds::total_bytes, or Bounds::always_bytes if that is more. So a few addresses can each hold their
// whole bound, many addresses can each hold less, and some room is left for a new address.
//
// The code that holds memory for a client counts the memory in the client's account: filters, the index ranges and
// records of scans, new events that wait for a subscriber, output. If several accounts hold the same memory
// (Memory::kShared), each of them counts it.
//
// If an address has no room for the data that one of its connections is about to read, the connection can wait for room
// (Account::WhenRoom). When the memory of the program runs short, the relay calls AskHeaviest, which asks the address
// that holds most to free memory.
//
// Threads: Ledger and Account are thread-safe; a HeldBytes is not. An account may outlive its connection, but not the
// ledger.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/mutex.h"
#include "monitors/own_bytes.h"

namespace weir {

// The way in which bytes are reported as memory of the program (monitors/own_bytes.h). The bounds of the ledger do not
// distinguish these kinds.
enum class Memory : uint8_t {
  kOwn,      // memory that only this account holds; the ledger reports it
  kWaiting,  // like kOwn, but for work that waits for its turn; no limit of the throttle depends on it
  kShared,   // memory that other accounts may hold too; the code that allocated it reports it, once
};

class Account;

class Ledger {
 public:
  struct Bounds {
    uint64_t address_bytes = UINT64_MAX;  // the most that one address may hold by TryTake
    uint64_t total_bytes = UINT64_MAX;    // the most that all may hold together by TryTake, besides always_bytes
    uint64_t always_bytes = 0;            // the bytes that an address may hold, however much the others hold
  };

  // `count_own_bytes`, if given, is called at every change of kOwn or kWaiting bytes, by the thread that changes them,
  // with a negative number if they become fewer.
  explicit Ledger(Bounds bounds, CountOwnBytes count_own_bytes = {});
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Sets Bounds::total_bytes, for a caller that learns the number only after it has made the ledger.
  void BoundTotal(uint64_t bytes) { total_bytes_ = bytes; }

  // Opens an account of the client address with the number `address` (Connection::group()). The account is closed when
  // its last owner drops it. AskHeaviest calls `give_up`, if given, to ask the owner of the account to free as much
  // memory as possible. It may call `give_up` any number of times, on the thread that called AskHeaviest, but never
  // after the account is closed. The ledger's mutex is locked during the call, so `give_up` must not call the ledger or
  // an account; it should only post to another thread.
  std::shared_ptr<Account> Open(uint64_t address, std::function<void()> give_up = {});

  // Returns the bytes that all addresses hold.
  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Returns the bytes of the address that holds most; 0 if no address holds anything.
  uint64_t heaviest_bytes() const;
  // An address and the bytes that it holds.
  struct Holder {
    uint64_t address = 0;
    uint64_t bytes = 0;
  };
  // Returns the addresses that hold the most bytes, at most `most` of them, in descending order of bytes.
  std::vector<Holder> Heaviest(size_t most) const;

  // Asks the address that holds most to free memory. Calls `give_up` of its accounts, the account with the most bytes
  // first, until the accounts that it has asked hold at least `bytes` together. Skips accounts without a `give_up` or
  // without bytes. Returns the bytes that the asked accounts hold, which may be fewer than `bytes`; 0 if it has asked
  // none. These accounts free their bytes later.
  uint64_t AskHeaviest(uint64_t bytes);

 private:
  friend class Account;
  // An account that waits for room for `bytes`.
  struct Waiter {
    Account* account;
    uint64_t bytes;
    std::function<void()> tell;
  };
  struct Address {
    std::atomic<uint64_t> bytes{0};
    std::vector<Account*> accounts;  // protected by the ledger's mutex
    std::list<Waiter> waiters;       // protected by the ledger's mutex
    std::atomic<size_t> waiting{0};  // the number of waiters
  };
  void Close(Account& account);
  void WakeWaiters(Address& address);
  void Count(int64_t bytes, Memory memory) const;

  const Bounds bounds_;
  std::atomic<uint64_t> total_bytes_;
  const CountOwnBytes count_own_bytes_;
  std::atomic<uint64_t> bytes_{0};
  mutable Mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<Address>> addresses_ WEIR_GUARDED_BY(mutex_);
};

// Account: the count of the bytes that one connection, or another part of the program, holds for a client address.
// Ledger::Open makes it.
class Account {
 public:
  ~Account();
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  // Counts bytes that the caller is about to hold. Returns false, and counts nothing, if address_bytes() would then
  // exceed most_address_bytes().
  bool TryTake(uint64_t bytes, Memory memory = Memory::kOwn);
  // Counts bytes that the caller holds already, even beyond the bounds.
  void Take(uint64_t bytes, Memory memory = Memory::kOwn);
  // Subtracts bytes that were counted with the same `memory`. The caller must call it when it no longer holds the
  // bytes.
  void GiveBack(uint64_t bytes, Memory memory = Memory::kOwn);

  // Returns true if the address may hold `bytes` more according to the present most_address_bytes(). TryTake may still
  // refuse them, because it compares with the value that most_address_bytes() has once the bytes are taken.
  bool HasRoom(uint64_t bytes) const { return address_bytes() + bytes <= most_address_bytes(); }
  // Registers `tell`, which is called at most once: within a GiveBack of an account of the same address, if
  // HasRoom(bytes) is true then. Another account may take that room before the caller does. `tell` is not called for
  // room that exists already, for room that other addresses free, or after the account is closed. Besides, one GiveBack
  // checks only a few waiters. So the caller must also check HasRoom from time to time. GiveBack calls `tell` under the
  // ledger's mutex, so `tell` must not call the ledger or an account; it should only post to another thread.
  void WhenRoom(uint64_t bytes, std::function<void()> tell);

  // Opens another account of the same address, for memory that no single connection of the address holds. `give_up` has
  // the same meaning as in Ledger::Open.
  std::shared_ptr<Account> OpenBeside(std::function<void()> give_up) const {
    return ledger_.Open(key_, std::move(give_up));
  }

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }  // the bytes that this account holds
  // Returns the bytes that all accounts of the address hold.
  uint64_t address_bytes() const { return address_.bytes.load(std::memory_order_relaxed); }
  // Returns the most bytes that the address may hold now, given the ledger's bounds and the bytes that are free of
  // Bounds::total_bytes.
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

// HeldBytes: bytes that an account counts until this object is destroyed. Not thread-safe.
class HeldBytes {
 public:
  // Makes an object without an account: TryAdd and GiveBack must not be called on it.
  HeldBytes() = default;
  // Counts `bytes`, even beyond the bounds (Account::Take). `account` must not be null.
  HeldBytes(std::shared_ptr<Account> account, uint64_t bytes, Memory memory = Memory::kOwn)
      : account_(std::move(account)), bytes_(bytes), memory_(memory) {
    account_->Take(bytes_, memory_);
  }
  // Counts `bytes` if the bounds allow it (Account::TryTake), else returns nullopt.
  static std::optional<HeldBytes> Try(std::shared_ptr<Account> account, uint64_t bytes, Memory memory = Memory::kOwn) {
    HeldBytes held(std::move(account), 0, memory);
    if (!held.TryAdd(bytes)) return std::nullopt;
    return held;
  }
  HeldBytes(HeldBytes&& other) noexcept
      : account_(std::move(other.account_)), bytes_(std::exchange(other.bytes_, 0)), memory_(other.memory_) {}
  // Swaps the two objects, so the destructor of `other` subtracts the bytes that this object held.
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(bytes_, other.bytes_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~HeldBytes() {
    if (account_) account_->GiveBack(bytes_, memory_);
  }

  // Counts `bytes` more. Returns false, and counts nothing, if the bounds do not allow it.
  bool TryAdd(uint64_t bytes) {
    if (!account_->TryTake(bytes, memory_)) return false;
    bytes_ += bytes;
    return true;
  }
  // Subtracts `bytes` of the held bytes, at most bytes(). The destructor subtracts the rest.
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
