// The status that ends a gRPC call.
#pragma once

#include <cstdint>
#include <string>

namespace weir {

enum class GrpcCode : uint8_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// An OK, or an error with a message for people.
struct GrpcStatus {
  GrpcCode code = GrpcCode::kOk;
  std::string message;

  bool ok() const { return code == GrpcCode::kOk; }
};

}  // namespace weir
