#include "relay/limiters/quota/waiting_calls.h"

#include <utility>

#include "relay/net/client_address.h"
#include "relay/net/http_error.h"
#include "throttle/limits/quota/quota.h"

namespace weir {
namespace {

// A file has one writer at a time, so more threads gain nothing. With one thread, a call that lists all models would
// block all other calls.
constexpr size_t kWorkers = 4;

}  // namespace

WaitingCalls::WaitingCalls(const Clock& clock) : clock_(clock), pool_(std::make_unique<WorkPool>(kWorkers, 0)) {}
WaitingCalls::~WaitingCalls() { Stop(); }

HttpResponse WaitingCalls::BusyAsJson(std::string message) {
  HttpResponse response = ErrorResponse(503, NameOf(QuotaCode::kStoreUnavailable), std::move(message));
  response.headers = {{"Retry-After", "1"}};
  return response;
}

void WaitingCalls::Submit(const std::string& address, HttpReply reply, std::function<void(HttpReply)> call, Busy busy) {
  const Party party{.id = GroupOf(address)};
  pool_->Submit(Urgency::kFair, party,
                [this, arrival = clock_.Now(), reply = std::move(reply), call = std::move(call),
                 busy = std::move(busy)]() mutable {
                  if (const char* why = WhyNot(arrival, reply)) return reply(busy(why));
                  call(std::move(reply));
                });
}

const char* WaitingCalls::WhyNot(TimePoint arrival, const HttpReply& reply) const {
  if (stopping_.load(std::memory_order_relaxed)) return "the gate is stopping";
  if (reply.abandoned()) return "the client hung up before its turn came";
  if (clock_.Now() - arrival > kLongestInLine) return "too many calls wait for the store";
  return nullptr;
}

void WaitingCalls::Stop() {
  BeginStop();
  pool_.reset();
}

}  // namespace weir
