// BulkThread and AsParty: mark the writes of the calling thread, for ThrottledDb and its kin (throttled_db.h).
//
//   weir::BulkThread bulk;         // until the end of this block, the thread's writes are bulk work
//   weir::AsParty party(user_id);  // and are done for this party
//
// A thread without AsParty is a party of its own, so the threads that wait get equal shares, and a thread that writes
// much delays itself. AsParty is for programs in which one thread works for several clients, or several for one.
//
// Threads: a mark belongs to the thread that made it. Destroy it in that thread; marks of a thread end in the reverse
// order.
#pragma once

#include "throttle/admission.h"

namespace weir {

namespace internal {
struct ThreadMarks {
  bool bulk = false;
  uint64_t party_id = 0;  // 0: the thread is its own party
  uint64_t party_group = 0;
};
// constinit, so that reading it needs no guard.
inline constinit thread_local ThreadMarks thread_marks;
}  // namespace internal

class [[nodiscard]] BulkThread {
 public:
  BulkThread() { internal::thread_marks.bulk = true; }
  ~BulkThread() { internal::thread_marks.bulk = before_; }
  BulkThread(const BulkThread&) = delete;
  BulkThread& operator=(const BulkThread&) = delete;

 private:
  const bool before_ = internal::thread_marks.bulk;
};

class [[nodiscard]] AsParty {
 public:
  // `id` and `group` mean the same as in Party. An id of 0 makes the thread its own party again.
  explicit AsParty(uint64_t id, uint64_t group = 0) {
    internal::thread_marks.party_id = id;
    internal::thread_marks.party_group = group;
  }
  ~AsParty() {
    internal::thread_marks.party_id = id_before_;
    internal::thread_marks.party_group = group_before_;
  }
  AsParty(const AsParty&) = delete;
  AsParty& operator=(const AsParty&) = delete;

 private:
  const uint64_t id_before_ = internal::thread_marks.party_id;
  const uint64_t group_before_ = internal::thread_marks.party_group;
};

// Returns true if the calling thread is inside a BulkThread.
inline bool IsBulkThread() { return internal::thread_marks.bulk; }

// Returns the party of the calling thread, with the given class. The address of its marks is a number that no other
// living thread has.
inline Party PartyOfThread(WorkClass work_class) {
  const internal::ThreadMarks& marks = internal::thread_marks;
  const uint64_t id = marks.party_id != 0 ? marks.party_id : reinterpret_cast<uintptr_t>(&marks);
  return {.id = id, .work_class = work_class, .group = marks.party_group};
}

}  // namespace weir
