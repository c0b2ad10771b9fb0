// EnvoyRequest: a RateLimitRequest, in whichever form it came. Its texts are those of the message, which must live
// until Ask has returned.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "throttle/descriptors/descriptor_limiter.h"

namespace weir {

class EnvoyRequest {
 public:
  struct Descriptor {
    std::vector<DescriptorEntry> entries;
    std::optional<UnitLimit> limit;
    std::optional<uint64_t> hits;
  };

  std::string_view domain;
  std::vector<Descriptor> descriptors;
  uint32_t hits = 0;

  void Ask(DescriptorLimiter& limiter, DescriptorLimiter::Done done) const;
};

// Returns the unit of that number; an error if there is none, or it is UNKNOWN.
Result<LimitUnit> UnitOfNumber(uint64_t number);

// Reads the JSON form of the message, as protobuf defines it: numbers may be texts, and names as in the .proto file are
// accepted too. Unknown members are errors. The request's texts live until this thread reads another.
Status ReadEnvoyRequest(std::string_view json, EnvoyRequest* request);

}  // namespace weir
