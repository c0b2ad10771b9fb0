// Http2Head: takes the header of one request over HTTP/2, field by field, and checks it.
//
//   Http2Head head;
//   if (!head.Count(name, value)) …                      // for each field; false: the connection must end
//   head.Take(request, name, value);                     // for each field that is not of the trailers
//   if (auto refusal = head.Finish(request)) …           // at the end of the header: answer with `refusal`
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "relay/net/http.h"

namespace weir {

class Http2Head {
 public:
  // Counts a field's bytes. Returns false if all fields together are so long that the connection must end.
  bool Count(std::string_view name, std::string_view value);
  // Adds a field that Count has counted to `request`, unless the header has become longer than kMaxHeaderBytes. The
  // target is kept in raw_path until Finish.
  void Take(HttpRequest& request, std::string_view name, std::string_view value);
  // Sets path, raw_path and query of `request` from its target. Returns nullopt, or the answer that refuses the request
  // because of its header.
  std::optional<HttpResponse> Finish(HttpRequest& request) const;

  // Returns the bytes that the kept fields take, at most kMaxHeaderBytes.
  size_t kept_bytes() const;

 private:
  void TakeHost(HttpRequest& request, std::string_view value);

  size_t bytes_ = 0;
  bool has_two_hosts_ = false;
};

}  // namespace weir
