// An authority of a test and a certificate of it, for servers on this machine.
#pragma once

#include <string>

namespace weir {

// Into the directory: ca.crt; server.crt and server.key, for localhost and 127.0.0.1.
void MakeCertificates(const std::string& directory);

}  // namespace weir
