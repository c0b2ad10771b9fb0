// EnvoyRequest: a RateLimitRequest of Envoy, read from gRPC or JSON. Its string_views point into the gRPC message, or
// into the memory of ReadEnvoyRequest. They must be valid until Ask has returned.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/status.h"
#include "throttle/limits/descriptors/descriptor_limiter.h"

namespace weir {

class EnvoyRequest {
 public:
  struct Descriptor {
    std::vector<DescriptorEntry> entries;
    std::optional<UnitLimit> limit;  // replaces the limit of the rules
    std::optional<uint64_t> hits;    // replaces EnvoyRequest::hits; 0: charges nothing
  };

  std::string_view domain;
  std::vector<Descriptor> descriptors;
  uint32_t hits = 0;  // hits to charge; 0 counts as 1

  // Passes the request to the limiter, which calls `done` once (DescriptorLimiter::Done).
  void Ask(DescriptorLimiter& limiter, DescriptorLimiter::Done done) const;
};

// Returns the unit with this number in Envoy's protocol. Returns an error for an unknown number, and for 0 (UNKNOWN).
Result<LimitUnit> UnitOfNumber(uint64_t number);

// Reads the JSON form of the message, as protobuf defines it: numbers may be strings, and members may have the names of
// the .proto file. Returns an error if the text is wrong or has an unknown member; `request` must not be used then. The
// string_views of `request` are valid until this thread calls ReadEnvoyRequest again.
Status ReadEnvoyRequest(std::string_view json, EnvoyRequest* request);

}  // namespace weir
