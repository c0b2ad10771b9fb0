#include "relay/limiters/envoy/envoy_grpc.h"

#include <chrono>
#include <limits>
#include <string>
#include <utility>

#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "relay/limiters/envoy/envoy_request.h"
#include "relay/net/grpc/grpc_service.h"

namespace weir {
namespace {

namespace rls = envoy::service::ratelimit::v3;
using Code = DescriptorAnswer::Code;

// Reads `message` into *request, whose string_views then point into `message`.
Status ReadMessage(const rls::RateLimitRequest& message, EnvoyRequest* request) {
  request->domain = message.domain();
  request->hits = message.hits_addend();
  request->descriptors.reserve(static_cast<size_t>(message.descriptors_size()));
  for (const rls::RateLimitDescriptor& from : message.descriptors()) {
    EnvoyRequest::Descriptor& to = request->descriptors.emplace_back();
    to.entries.reserve(static_cast<size_t>(from.entries_size()));
    for (const auto& entry : from.entries()) to.entries.push_back({entry.key(), entry.value()});
    if (from.has_hits_addend()) to.hits = from.hits_addend().value();
    if (!from.has_limit()) continue;
    // protobuf reads a unit that it does not know as 0, which UnitOfNumber refuses.
    const Result<LimitUnit> unit = UnitOfNumber(static_cast<uint64_t>(from.limit().unit()));
    if (!unit.ok())
      return Status::Error("the limit of descriptor " + std::to_string(request->descriptors.size()) + ": " +
                           unit.status().message());
    to.limit = {from.limit().requests_per_unit(), unit.value()};
  }
  return Status();
}

void Write(const DescriptorStatus& from, rls::RateLimitResponse::DescriptorStatus* to) {
  to->set_code(from.over ? rls::RateLimitResponse::OVER_LIMIT : rls::RateLimitResponse::OK);
  to->set_limit_remaining(from.unlimited ? std::numeric_limits<uint32_t>::max() : from.remaining);
  if (!from.limit) return;
  auto* limit = to->mutable_current_limit();
  limit->set_requests_per_unit(from.limit->requests_per_unit);
  limit->set_unit(static_cast<rls::RateLimitResponse::RateLimit::Unit>(from.limit->unit));
  limit->set_name(from.limit_name.data(), from.limit_name.size());
  to->mutable_duration_until_reset()->set_seconds(
      std::chrono::duration_cast<std::chrono::seconds>(from.until_reset).count());
}

rls::RateLimitResponse ResponseOf(const DescriptorAnswer& answer, const HttpFields& headers) {
  rls::RateLimitResponse response;
  response.set_overall_code(answer.code == Code::kOverLimit ? rls::RateLimitResponse::OVER_LIMIT
                                                            : rls::RateLimitResponse::OK);
  for (const DescriptorStatus& status : answer.statuses) Write(status, response.add_statuses());
  for (const auto& [name, value] : headers) {
    auto* header = response.add_response_headers_to_add();
    header->set_key(name);
    header->set_value(value);
  }
  return response;
}

}  // namespace

void AddEnvoyGrpc(HttpRouter& router, const ServedLimiter::Refusal& refusal, bool for_admins,
                  std::function<EnvoyApi&()> api) {
  GrpcService service(router, kEnvoyGrpcService);
  service.AddUnary<rls::RateLimitRequest, rls::RateLimitResponse>(
      "ShouldRateLimit",
      [refusal, for_admins, api = std::move(api)](const GrpcCall& call, const rls::RateLimitRequest& message,
                                                  const GrpcReply<rls::RateLimitResponse>& reply) {
        if (for_admins)
          if (auto refused = refusal(call.http)) return reply.http()(PlainErrorAsGrpc(*std::move(refused), call.http));
        EnvoyRequest request;
        if (const Status status = ReadMessage(message, &request); !status.ok()) {
          api().OnUnreadable();
          return reply(GrpcStatus{GrpcCode::kInvalidArgument, status.message()});
        }
        EnvoyApi& asked = api();
        asked.Ask(request, [&asked, reply](const DescriptorAnswer& answer) {
          if (answer.code == Code::kInvalid) return reply(GrpcStatus{GrpcCode::kInvalidArgument, answer.reason});
          reply(ResponseOf(answer, asked.HeadersToAdd(answer)));
        });
      });
}

}  // namespace weir
