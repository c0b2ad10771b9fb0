#include "relay/protocol/request_room.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

// When more than kEnoughPending bytes of output wait, requests stop reading the store, until less than kLittlePending
// bytes wait. The first bound is also at most max_pending_bytes / kEnoughPart, the second at most max_pending_bytes /
// kLittlePart; at max_pending_bytes the server ends the connection. So a slice of 128 KiB does not make the output
// reach max_pending_bytes, unless this setting is very low.
constexpr uint64_t kEnoughPending = 256 << 10;
constexpr uint64_t kEnoughPart = 16;
constexpr uint64_t kLittlePending = 64 << 10;
constexpr uint64_t kLittlePart = 64;

}  // namespace

const std::string& RequestRoom::RefusalOfReader() {
  const uint64_t generation = context_.rules->generation();
  const std::vector<PublicKey>& keys = peer_->identity()->keys();
  if (generation != rules_generation_ || keys.size() != keys_) {
    rules_generation_ = generation;
    keys_ = keys.size();
    reader_refusal_ = context_.rules->JudgeRead({}, {.proved = keys, .address = peer_->address_bytes()}).reason;
  }
  return reader_refusal_;
}

bool RequestRoom::IsBehind(uint64_t about_to_be_said) const {
  return peer_->pending_bytes() + about_to_be_said > std::min(kEnoughPending, context_.max_pending_bytes / kEnoughPart);
}

void RequestRoom::WhenCaughtUp(std::function<void()> callback) {
  peer_->WhenPendingBelow(std::min(kLittlePending, context_.max_pending_bytes / kLittlePart), std::move(callback));
}

bool RequestRoom::MayHold(uint64_t bytes) const {
  return peer_->pending_bytes() + held_bytes_ + bytes <= context_.max_pending_bytes;
}

}  // namespace weir
