// The stage of a connection that speaks HTTP/2: many requests at once, each a stream, to the routes of
// HTTP/1.1 and by its rules. The frames are http2_frames.h's.
#pragma once

#include <memory>
#include <string_view>

#include "relay/server/http.h"
#include "relay/server/stage.h"

namespace weir {

class Session;

// What a client says first.
inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Behind the part of the preface that was read.
std::unique_ptr<Stage> MakeHttp2Stage(Session& session, std::string_view begin);
// Before the preface of a client that has asked for it over HTTP/1.1: the request is the first stream. Null where that
// cannot be, because of the settings, and the request is untouched.
std::unique_ptr<Stage> MakeHttp2Stage(Session& session, std::string_view settings, HttpRequest& request);

}  // namespace weir
