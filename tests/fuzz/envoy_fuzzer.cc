// A RateLimitRequest in JSON. Whatever weir accepts, protobuf's own reader accepts too, with the same meaning.
#include <google/protobuf/util/json_util.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "envoy/service/ratelimit/v3/rls.pb.h"
#include "relay/limiters/envoy/envoy_request.h"
#include "tests/fixtures/must.h"
#include "tests/fuzz/target.h"

namespace weir {
namespace {

namespace rls = envoy::service::ratelimit::v3;

void CheckDescriptor(const EnvoyRequest::Descriptor& read, const rls::RateLimitDescriptor& meant) {
  Must(read.entries.size() == static_cast<size_t>(meant.entries_size()));
  for (size_t i = 0; i < read.entries.size(); ++i) {
    const auto& entry = meant.entries(static_cast<int>(i));
    Must(read.entries[i].key == entry.key() && read.entries[i].value == entry.value());
  }
  Must(read.hits.has_value() == meant.has_hits_addend());
  Must(!read.hits || *read.hits == meant.hits_addend().value());
  Must(read.limit.has_value() == meant.has_limit());
  if (!read.limit) return;
  Must(read.limit->requests_per_unit == meant.limit().requests_per_unit());
  Must(static_cast<int>(read.limit->unit) == static_cast<int>(meant.limit().unit()));
}

void Check(std::string_view json) {
  EnvoyRequest read;
  if (const Status status = ReadEnvoyRequest(json, &read); !status.ok()) return Must(!status.message().empty());
  rls::RateLimitRequest meant;
  const auto status = google::protobuf::util::JsonStringToMessage(std::string(json), &meant);
  Must(status.ok(), std::string(status.message()));
  Must(read.domain == meant.domain() && read.hits == meant.hits_addend());
  Must(read.descriptors.size() == static_cast<size_t>(meant.descriptors_size()));
  for (size_t i = 0; i < read.descriptors.size(); ++i)
    CheckDescriptor(read.descriptors[i], meant.descriptors(static_cast<int>(i)));
}

}  // namespace
}  // namespace weir

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::Check(weir::Text(data, size));
  return 0;
}
