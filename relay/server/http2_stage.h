// The stage of a connection that speaks HTTP/2: many requests at once, each a stream, to the routes of
// HTTP/1.1 and by its rules. The frames are http2_frames.h's.
#pragma once

#include <memory>
#include <string_view>

#include "relay/server/http.h"
#include "relay/server/stage.h"

namespace weir {

class Session;

// The first bytes of a client.
inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// `begin` is the part of the preface that was read already.
std::unique_ptr<Stage> MakeHttp2Stage(Session& session, std::string_view begin);
// For a client that has asked for HTTP/2 over HTTP/1.1 and has not sent the preface yet: the request is the first
// stream. Returns null if the settings do not allow that; then the request is untouched.
std::unique_ptr<Stage> MakeHttp2Stage(Session& session, std::string_view settings, HttpRequest& request);

}  // namespace weir
