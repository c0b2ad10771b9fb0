// Reconciler: one side's answer to one message of the other side, when two sides find out in which events their sets
// differ (negentropy, version 1; NIP-77). The client begins, and the sides answer each other until the client knows all
// differences. Neither side keeps anything between two messages but its set.
//
//   Relay:   Reconciler answer(set, message, frame_bytes);
//            while (true) { Result<bool> done = answer.Next(kTurnWork); … }      // in slices, on workers
//            send answer.Take()
//   Client:  send Reconciler::FirstMessage(set, frame_bytes)
//            for each answer: the same as the relay, with a SyncDifferences; an empty answer means that it is done
//
// A range in which both have the same fingerprint is skipped. A range in which they differ is split in sixteen, or
// answered with all own ids if there are fewer than 32. If an answer reaches its bound, it ends with the fingerprint of
// all that it did not reach, and the next messages go on there. That may also have ranges whose differences the client
// knows already; it then learns them again.
//
// Threads: only one thread at a time may use a Reconciler. The set must be sealed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "relay/account/work.h"
#include "relay/negentropy/range_wire.h"
#include "relay/negentropy/sync_set.h"

namespace weir {

// The differences that a client has learned. An id may be in a list more than once.
struct SyncDifferences {
  std::vector<EventId> have;  // ids that only the client has
  std::vector<EventId> need;  // ids that only the relay has
};

class Reconciler {
 public:
  // The least bound of an answer: sixteen fingerprints with their ends, and some ids.
  static constexpr size_t kLeastFrameBytes = 4096;

  // Answers `message` with at most `frame_bytes` bytes, or kLeastFrameBytes if that is more. `found` is null for the
  // relay's side. On the client's side it gets the differences, after those of earlier messages; a relay that lies can
  // make it get ids that are no events. `set` and `found` must outlive the object.
  Reconciler(SyncPart set, std::string message, size_t frame_bytes, SyncDifferences* found = nullptr);
  Reconciler(const Reconciler&) = delete;
  Reconciler& operator=(const Reconciler&) = delete;

  // Goes on with about the work `most`. Returns true once the answer is whole. Returns an error, for the other side, if
  // the message is not well-formed.
  Result<bool> Next(Work most);
  // Returns the work that was done so far.
  Work work() const { return work_; }
  // Returns the bytes of the message and of the answer so far.
  uint64_t held_bytes() const { return message_.capacity() + out_.bytes(); }
  // Returns the whole answer. It is empty on the client's side if there is nothing left to ask. The object must not be
  // used any more.
  std::string Take();

  static std::string FirstMessage(SyncPart set, size_t frame_bytes);

 private:
  Result<bool> Begin();
  bool Answer(const SyncRange& range);
  bool Split(size_t end, const SyncItem& range_end);
  bool WriteIds(size_t end, const SyncItem& range_end);
  void FindDifferences(std::string_view ids, size_t end);
  void WriteRest();

  const SyncPart set_;
  const std::string message_;
  SyncDifferences* const found_;
  RangeReader in_;
  RangeWriter out_;
  SyncItem place_;    // the end of the last range that was read
  size_t index_ = 0;  // the index of the first item that no range of the answer has yet
  Work work_ = 0;
};

}  // namespace weir
