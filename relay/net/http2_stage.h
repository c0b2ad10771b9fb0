// The stage of a connection that speaks HTTP/2. A stage (stage.h) is the object that speaks a connection's present
// protocol. This one handles many requests at once, each on its own stream, with the same routes and rules as
// HTTP/1.1. Http2Frames (http2_frames.h) reads and writes the frames.
#pragma once

#include <memory>
#include <string_view>

#include "relay/net/http.h"
#include "relay/net/stage.h"

namespace weir {

class Session;

// The bytes that a client of HTTP/2 sends first.
inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Makes the stage. `begin` is the part of the preface that was read already; it may be empty.
std::unique_ptr<Stage> MakeHttp2Stage(Session& session, std::string_view begin);
// Makes the stage for a client that has asked for HTTP/2 in a request over HTTP/1.1 (h2c), and has not sent the preface
// yet. `settings` is the decoded header HTTP2-Settings. Moves from `request`, which becomes the first stream. Returns
// null if the settings are malformed; `request` is then unchanged.
std::unique_ptr<Stage> MakeHttp2Stage(Session& session, std::string_view settings, HttpRequest& request);

}  // namespace weir
