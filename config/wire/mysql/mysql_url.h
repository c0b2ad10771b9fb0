// MysqlAddress: the MariaDB or MySQL, the login and the database that a URL names:
//
//   mysql://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE][?ssl-ca=FILE]
//
// USER, PASSWORD, DATABASE and FILE may have %-escapes. As in all clients of MariaDB, the host "localhost" means the
// socket of the server on this machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/status.h"

namespace weir {

struct MysqlAddress {
  std::string host;
  uint16_t port = 3306;
  std::string user;      // empty: the user that runs this program
  std::string password;  // empty: none
  std::string database;  // empty: none
  std::string ca_file;   // certificates; one of them must have signed that of the server. Empty: no TLS is required
};
// Parses the URL. The error does not show it, because it may contain the password.
Result<MysqlAddress> ParseMysqlUrl(std::string_view url);

}  // namespace weir
