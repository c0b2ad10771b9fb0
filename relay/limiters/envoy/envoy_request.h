// EnvoyRequest: what a RateLimitRequest says, in whichever form it came. The texts are those of the message, which must
// live until it was asked.
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

// The unit of that number; an error where there is none, or it is UNKNOWN.
Result<LimitUnit> UnitOfNumber(uint64_t number);

// The JSON form of the message: as protobuf has it, so numbers may be texts, and names as in the .proto file are taken
// too. Members that are not known are errors. The request's texts live until the thread reads another.
Status ReadEnvoyRequest(std::string_view json, EnvoyRequest* request);

}  // namespace weir
