#!/bin/sh
# arrows_test.sh <check-arrows>: it passes the house as it should be, and names the line of each kind of violation.
set -eu
check=$1
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir "$house/config" "$house/monitors" "$house/throttle" "$house/relay"

echo '#include "config/clock.h"' >"$house/monitors/good.h"
printf '#include <vector>\n#include "monitors/good.h"\n' >"$house/throttle/good.h"
printf '#include <boost/asio.hpp>\n#include "throttle/good.h"\n' >"$house/relay/good.cc"
echo '#include <boost/asio/awaitable.hpp>' >"$house/throttle/await_good.h"
mkdir -p "$house/config/wire/redis" "$house/config/wire/postgres" "$house/throttle/limits/quota/redis" "$house/throttle/limits/quota/sqlite"
printf '#include <hiredis/hiredis.h>\n#include <openssl/ssl.h>\n#include <boost/asio/io_context.hpp>\n' >"$house/config/wire/redis/good.cc"
echo '#include <sqlite3.h>' >"$house/throttle/limits/quota/sqlite/good.cc"
mkdir -p "$house/throttle/rocksdb" "$house/throttle/examples"
echo '#include <rocksdb/db.h>' >"$house/throttle/examples/good.cc"
printf '#include <rocksdb/db.h>\n#include "monitors/rocksdb_monitor.h"\n' >"$house/throttle/rocksdb/good.h"
mkdir -p "$house/relay/store" "$house/relay/protocol"
echo '#include "relay/store/good.h"' >"$house/relay/protocol/good.h"
"$check" "$house"

printf '\n#include "monitors/good.h"\n' >"$house/config/bad.h"
echo '#include <CLI/App.hpp>' >"$house/config/command_line.cc"
echo '#include <CLI/App.hpp>' >"$house/relay/bad_command.cc"
echo '  #  include <throttle/good.h>' >"$house/monitors/bad.cc"
echo '#include <libpq-fe.h>' >"$house/relay/bad_store.cc"
echo '#include <libpq-fe.h>' | tee "$house/monitors/bad_postgres.cc" >"$house/config/wire/postgres/good.cc"
echo '#include <mariadb/mysql.h>' >"$house/monitors/bad_mysql.cc"
echo '#include <openssl/ssl.h>' >"$house/config/bad_tls.cc"
echo '#include "throttle/limits/quota/good.h"' >"$house/throttle/bad_limits.h"
mkdir -p "$house/monitors/neo4j"
echo '#include <boost/beast.hpp>' | tee "$house/monitors/neo4j/good.cc" >"$house/monitors/neo4j/bad.h"
printf '#include <rocksdb/db.h>\n#include <boost/asio.hpp>\n#include "tests/x.h"\n#include "../relay/good.h"\n#include "throttle/await_good.h"\n#include "monitors/rocksdb_monitor.h"\n' >"$house/throttle/bad.cc"
printf '#include <sqlite3.h>\n#include <hiredis/hiredis.h>\n#include <sys/socket.h>\n' >"$house/throttle/limits/quota/bad.cc"
printf '#include <boost/asio/io_context.hpp>\n' | tee "$house/throttle/limits/quota/sqlite/bad.cc" >"$house/throttle/limits/quota/redis/redis_store.h"
printf '#include <boost/beast.hpp>\n' >"$house/throttle/limits/quota/redis/bad.cc"
echo '#include "relay/protocol/good.h"' >"$house/relay/store/bad.h"
if found=$("$check" "$house"); then
  echo "violations passed" >&2
  exit 1
fi
expected='config/bad.h:2: config/ includes "monitors/good.h", which stands above it
config/bad_tls.cc:1: only config/wire/ sees <openssl/ssl.h>
monitors/bad.cc:1: monitors/ includes "throttle/good.h", which stands above it
monitors/bad_mysql.cc:1: only config/wire/mysql/ sees <mariadb/mysql.h>
monitors/bad_postgres.cc:1: only config/wire/postgres/ sees <libpq-fe.h>
monitors/neo4j/bad.h:1: only sources of monitors/neo4j/ see <boost/beast.hpp>
relay/bad_command.cc:1: only config/command_line.cc sees <CLI/App.hpp>
relay/bad_store.cc:1: only config/wire/postgres/ sees <libpq-fe.h>
relay/store/bad.h:1: relay/store/ includes "relay/protocol/good.h", which stands above it
throttle/bad.cc:1: throttle/ must build without <rocksdb/db.h>
throttle/bad.cc:2: throttle/ must build without <boost/asio.hpp>
throttle/bad.cc:3: throttle/ includes "tests/x.h", which stands above it
throttle/bad.cc:4: includes "../relay/good.h" by a relative path
throttle/bad.cc:5: throttle/ must build without <throttle/await_good.h>
throttle/bad.cc:6: throttle/ must build without <monitors/rocksdb_monitor.h>
throttle/bad_limits.h:1: throttle/ decides delays without throttle/limits/
throttle/limits/quota/bad.cc:1: throttle/ sees <sqlite3.h> only in its own folder
throttle/limits/quota/bad.cc:2: throttle/ sees <hiredis/hiredis.h> only in its own folder
throttle/limits/quota/bad.cc:3: throttle/ sees <sys/socket.h> only in its own folder
throttle/limits/quota/redis/bad.cc:1: throttle/ must build without <boost/beast.hpp>
throttle/limits/quota/redis/redis_store.h:1: throttle/ must build without <boost/asio/io_context.hpp>
throttle/limits/quota/sqlite/bad.cc:1: throttle/ must build without <boost/asio/io_context.hpp>'
if [ "$found" != "$expected" ]; then
  printf 'expected:\n%s\nfound:\n%s\n' "$expected" "$found" >&2
  exit 1
fi
