// Tells systemd the state of the service, as sd_notify does: with a datagram to the socket that the environment
// variable NOTIFY_SOCKET names.
#pragma once

#include <string_view>

namespace weir {

// Sends `state`, which consists of lines such as "READY=1", "STOPPING=1" and "STATUS=…". Does nothing if NOTIFY_SOCKET
// is not set or names no socket, or if no socket can be made. Logs a warning if the datagram cannot be sent.
void NotifyService(std::string_view state);

}  // namespace weir
