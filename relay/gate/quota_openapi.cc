#include "relay/gate/quota_api.h"

namespace weir {

std::string_view QuotaOpenApi() {
  static constexpr std::string_view kDocument =
#include "openapi_json.inc"
      ;
  return kDocument;
}

}  // namespace weir
