#include "relay/limiters/page_places.h"

#include <optional>

#include "config/text/parse.h"
#include "config/text/url.h"

namespace weir {
namespace {

constexpr NumberRange kNumbers = {.min = 0, .max = 1e15};

}  // namespace

Result<PagePlace> ReadPagePlace(std::string_view query) {
  std::optional<PagePlace> place;
  while (const auto parameter = TakeParameter(&query)) {
    if (parameter->name != "after")
      return Status::Error("found the parameter " + Printable(parameter->name) + ", expected after");
    if (place) return Status::Error("after is there twice");
    const std::string_view text = parameter->value.value_or("");
    const size_t dash = text.find('-');
    const auto shard = ParseUnsigned(text.substr(0, dash), kNumbers);
    const auto bucket = ParseUnsigned(dash == text.npos ? "" : text.substr(dash + 1), kNumbers);
    if (!shard.ok() || !bucket.ok())
      return Status::Error("after: " + Printable(text) + " is not a next value that a page returned");
    place = {.shard = shard.value(), .bucket = bucket.value()};
  }
  return place.value_or(PagePlace());
}

std::string PagePlaceText(const PagePlace& place) {
  return std::to_string(place.shard) + "-" + std::to_string(place.bucket);
}

}  // namespace weir
