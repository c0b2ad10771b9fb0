#include "import/links/link_order.h"

#include "config/text/time_span.h"
#include "import/sync/remote_relay.h"

namespace weir {

Result<std::optional<uint64_t>> ParseCatchUp(std::string_view text) {
  if (text == "all") return std::optional<uint64_t>();
  if (text == "none") return std::optional<uint64_t>(0);
  const Result<uint64_t> span = ParseSpan(text);
  if (!span.ok()) return Status::Error("neither all, nor none, nor an age such as 7d");
  if (span.value() == 0) return Status::Error("no age; say none to compare nothing");
  return std::optional<uint64_t>(span.value());
}

Status Check(const LinkOrder& order) {
  if (Status url = RemoteRelay::CheckUrl(order.url); !url.ok()) return url;
  if (!order.plugin.empty() && !GoesDown(order.direction))
    return Status::Error("the plugin has no effect, because it judges what comes, and the direction is up");
  if (order.filters.empty()) return Status::Error("there is no filter; {} matches every event");
  for (const Filter& filter : order.filters) {
    if (filter.limit) return Status::Error("a filter cannot have a limit here");
    if (filter.search) return Status::Error("a filter cannot have a search here");
    if (filter.MatchesNothing()) return Status::Error("the filter " + ToJson(filter) + " matches no event");
  }
  return {};
}

}  // namespace weir
