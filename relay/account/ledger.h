// Ledger counts the bytes that each connection and each client address makes the relay hold in memory, and bounds them.
//
//   Ledger ledger({.address_bytes = 32 << 20}, count_own_bytes);
//   std::shared_ptr<Account> account = ledger.Open(connection.group(), [] { … post: close the connection … });
//   if (!account->TryTake(bytes)) …            // over the bounds: refuse, and say why; else GiveBack(bytes) later
//   auto held = HeldBytes::Try(account, bytes);  // nullopt if over the bounds; its destructor gives the bytes back
//   HeldBytes also_held(account, bytes);         // counts the bytes whatever the bounds
//
// Each connection has an account, and the accounts of one address share its bounds, so a client gets no more by opening
// more connections. All that an address holds must stay within Bounds::address_bytes, and must not be more than what
// then remains free of Bounds::total_bytes; but it may always hold always_bytes. So a few addresses can have their
// whole bound, many have less each, and something is left for the next one.
//
// All memory held for a client is counted where it is held: filters, ranges, records, live events that wait, output. If
// several accounts hold the same memory (Memory::kShared), it counts for each of them.
//
// A connection that lacks room for what it is about to read can wait for room: Account::WhenRoom. When the program's
// memory runs out, the address that holds most has to free some first: AskHeaviest.
//
// Threads: all functions of Ledger and Account may be called from any thread; a HeldBytes belongs to one thread at a
// time. An account may outlive its connection, but not the ledger.
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

// How bytes are reported as memory of the program (monitors/own_bytes.h). All kinds count alike against the bounds
// here.
enum class Memory : uint8_t {
  kOwn,      // memory that this account alone holds; the ledger reports it
  kWaiting,  // like kOwn, but held by work that waits for its turn: it is reported apart, and throttling leaves it out
  kShared,   // memory that other accounts may hold too; the code that made it reports it, once
};

class Account;

class Ledger {
 public:
  struct Bounds {
    uint64_t address_bytes = UINT64_MAX;  // the most that one address may hold
    uint64_t total_bytes = UINT64_MAX;    // the most that all addresses may hold together, all kinds of memory
    uint64_t always_bytes = 0;            // an address may hold this much, however much the others hold
  };

  // `count_own_bytes`, if given, is called at every change of kOwn or kWaiting bytes, by the thread that changes them,
  // with a negative number when bytes are given back.
  explicit Ledger(Bounds bounds, CountOwnBytes count_own_bytes = {});
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Sets Bounds::total_bytes, for a caller that learns the number only after it has made the ledger.
  void BoundTotal(uint64_t bytes) { total_bytes_ = bytes; }

  // Opens an account of a client address. `address` identifies it, as Connection::group() does. The account is closed
  // when its last owner drops it. AskHeaviest calls `give_up`, if given, when the owner of the account should free all
  // memory that it can: any number of times, on the thread that calls AskHeaviest, never after the account is closed.
  // `give_up` runs under the ledger's mutex, so it must not call the ledger or an account; it should only post to
  // another thread.
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
  // Returns up to `most` addresses that hold something: those with the most bytes, in descending order.
  std::vector<Holder> Heaviest(size_t most) const;

  // Asks accounts of the address that holds most to free memory: calls their `give_up`, the largest account first,
  // until the accounts asked hold at least `bytes` together. Passes over accounts without a `give_up`. Returns the
  // bytes that the accounts asked hold, which may be fewer than `bytes`, or 0; they have yet to give them back.
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

// An account counts the bytes that one connection, or another part of the program, holds for a client address.
// Ledger::Open makes it.
class Account {
 public:
  ~Account();
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  // Counts bytes that the caller is about to hold. Returns false, and counts nothing, if the address would then hold
  // more than most_address_bytes(), computed with these bytes taken.
  bool TryTake(uint64_t bytes, Memory memory = Memory::kOwn);
  // Counts bytes that are held already, whatever the bounds.
  void Take(uint64_t bytes, Memory memory = Memory::kOwn);
  // Subtracts bytes that were counted with the same `memory` and are no longer held.
  void GiveBack(uint64_t bytes, Memory memory = Memory::kOwn);

  // Returns true if what is free now lets the address hold `bytes` more. TryTake can still refuse them, because it
  // compares with what is free after it has taken them.
  bool HasRoom(uint64_t bytes) const { return address_bytes() + bytes <= most_address_bytes(); }
  // Calls `tell` at most once, when an account of the same address gives back bytes and HasRoom(bytes) is true then.
  // Another account may take that room first. `tell` is not called for room that is there already or that other
  // addresses make, nor after the account is closed, and one GiveBack looks at few waiters only: so the caller also has
  // to look from time to time. The thread that gives back calls `tell` under the ledger's mutex; `tell` must not call
  // the ledger or an account, and should only post to another thread.
  void WhenRoom(uint64_t bytes, std::function<void()> tell);

  // Opens another account of the same address, for memory that no single connection of the address holds. `give_up` has
  // the same meaning as in Ledger::Open.
  std::shared_ptr<Account> OpenBeside(std::function<void()> give_up) const {
    return ledger_.Open(key_, std::move(give_up));
  }

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }  // held by this account
  // Returns the bytes that all accounts of the address hold.
  uint64_t address_bytes() const { return address_.bytes.load(std::memory_order_relaxed); }
  // Returns the most bytes that the address may hold now, by the ledger's bounds and by what is free.
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

// Bytes that an account counts as long as this object lives. The destructor gives them back. Not thread-safe.
class HeldBytes {
 public:
  // Makes an object without an account: TryAdd and GiveBack must not be called on it.
  HeldBytes() = default;
  // Counts `bytes` whatever the bounds (Account::Take). `account` must not be null.
  HeldBytes(std::shared_ptr<Account> account, uint64_t bytes, Memory memory = Memory::kOwn)
      : account_(std::move(account)), bytes_(bytes), memory_(memory) {
    account_->Take(bytes_, memory_);
  }
  // Counts `bytes` within the bounds (Account::TryTake). Returns nullopt if they do not allow that.
  static std::optional<HeldBytes> Try(std::shared_ptr<Account> account, uint64_t bytes, Memory memory = Memory::kOwn) {
    HeldBytes held(std::move(account), 0, memory);
    if (!held.TryAdd(bytes)) return std::nullopt;
    return held;
  }
  HeldBytes(HeldBytes&& other) noexcept
      : account_(std::move(other.account_)), bytes_(std::exchange(other.bytes_, 0)), memory_(other.memory_) {}
  // Swaps the two: the bytes that this object held are given back when `other` is destroyed.
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(bytes_, other.bytes_);
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~HeldBytes() {
    if (account_) account_->GiveBack(bytes_, memory_);
  }

  // Counts `bytes` more. Returns false, and counts nothing, if the bounds do not allow that.
  bool TryAdd(uint64_t bytes) {
    if (!account_->TryTake(bytes, memory_)) return false;
    bytes_ += bytes;
    return true;
  }
  // Gives back `bytes` now, not only in the destructor. `bytes` must not exceed bytes().
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
