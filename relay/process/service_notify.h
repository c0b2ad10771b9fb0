// Tells systemd the state of the service (sd_notify), by a datagram to the socket that NOTIFY_SOCKET names.
#pragma once

#include <string_view>

namespace weir {

// `state` has "READY=1", "STOPPING=1", "STATUS=…", one a line. Does nothing if NOTIFY_SOCKET names no socket.
void NotifyService(std::string_view state);

}  // namespace weir
