#include "relay/net/http2_head.h"

#include <strings.h>

#include <algorithm>
#include <string>
#include <utility>

#include "relay/net/http_bounds.h"
#include "relay/net/http_message.h"

namespace weir {
namespace {

// The bytes of a header beyond kMaxHeaderBytes are parsed and dropped, up to this bound. Beyond it the connection ends,
// because one byte can encode a field of 4 KB.
constexpr size_t kMostDroppedHeaderBytes = 4 * size_t{kMaxHeaderBytes};

}  // namespace

bool Http2Head::Count(std::string_view name, std::string_view value) {
  constexpr size_t kBesides = 32;  // overhead of a field, as for SETTINGS_MAX_HEADER_LIST_SIZE
  bytes_ += name.size() + value.size() + kBesides;
  return bytes_ <= kMostDroppedHeaderBytes;
}

void Http2Head::Take(HttpRequest& request, std::string_view name, std::string_view value) {
  if (bytes_ > kMaxHeaderBytes) return;
  if (name == ":method") {
    request.method = value;
  } else if (name == ":path") {
    request.raw_path = value;
  } else if (name == ":authority" || name == "host") {
    TakeHost(request, value);
  } else if (!name.starts_with(':')) {
    request.headers.emplace_back(name, value);
  }
}

// Takes the host from :authority or Host. Notes if both are sent and differ.
void Http2Head::TakeHost(HttpRequest& request, std::string_view value) {
  const std::string_view known = request.Header("host");
  if (known.empty() && !value.empty()) request.headers.emplace_back("host", value);
  const bool is_alike = known.size() == value.size() && strncasecmp(known.data(), value.data(), known.size()) == 0;
  has_two_hosts_ = !known.empty() && !is_alike;
}

std::optional<HttpResponse> Http2Head::Finish(HttpRequest& request) const {
  const std::string target = std::move(request.raw_path);
  const bool is_well_formed = SetTarget(request, std::string_view(target).substr(0, target.find('#')));
  if (bytes_ > kMaxHeaderBytes) return HeaderTooLong();
  if (has_two_hosts_) return TwoHosts();
  if (!is_well_formed) return BadTarget();
  return std::nullopt;
}

size_t Http2Head::kept_bytes() const { return std::min<size_t>(bytes_, kMaxHeaderBytes); }

}  // namespace weir
