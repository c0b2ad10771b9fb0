// The store on PostgreSQL: what every store promises, and what it does with a server.
#include <gtest/gtest.h>

#include "tests/relay/store/postgres/postgres_fixture.h"
#include "tests/relay/store/store_suite.h"

namespace weir {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Postgres, StoreSuite,
    testing::Values(StoreKind{
        "postgres", [](const std::string& own_url) { return std::make_unique<PostgresUnderTest>(own_url); }, 4}),
    NameOfKind);

}  // namespace
}  // namespace weir
