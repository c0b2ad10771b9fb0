// The census of a store on PostgreSQL: the server counts, with one statement for kinds and months, one for authors and
// one for tags; a sample of the table's pages gives the sizes, the letters of the tags, and the days. Each statement is
// one slice. The server walks through its indexes, which takes some seconds for ten million events.
#pragma once

#include "config/status.h"
#include "relay/store/census/census.h"
#include "relay/store/postgres/postgres_store.h"

namespace weir {

Result<Census> TakePostgresCensus(const PostgresStore& store, const CensusOptions& options);

}  // namespace weir
