// A link of one of several relays on a PostgreSQL: what the subscribers of the others get of it.
#include "tests/import/links/two_relays.h"
#include "tests/relay/store/postgres/postgres_fixture.h"

namespace weir {
namespace {

class RouterPostgresTest : public TwoRelaysTest {
 protected:
  void SetUp() override {
    if (!PostgresProcess::IsInstalled()) GTEST_SKIP() << "no PostgreSQL is installed";
    database_.emplace();
    for (Side* side : {&here_, &sibling_}) side->configuration.storage.store = database_->url();
    here_.configuration.storage.postgres.origin = "here";
    sibling_.configuration.storage.postgres.origin = "sibling";
  }
  ~RouterPostgresTest() override {
    CloseHere();
    sibling_.Close();
  }

  std::optional<PostgresDatabase> database_;
  Side sibling_{directory_ / "sibling"};
};

TEST_F(RouterPostgresTest, SubscribersOfTheOthersGetNewsAndNoHistory) {
  OpenThere();
  const std::string old = NoteLine(1), young = News(2);
  there_.Publish(old);
  there_.Publish(young);
  OpenHere("");
  sibling_.Open({});
  WebClient reader_here(here_.port);
  WebClient reader_there(sibling_.port);
  for (WebClient* reader : {&reader_here, &reader_there}) {
    reader->Send(R"(["REQ","s",{"limit":0}])");
    reader->ReadUntil("[\"EOSE\"");
  }
  WriteFile(LinkToThere());
  router_->HangUp();
  ASSERT_TRUE(IsLive());
  EXPECT_TRUE(Eventually([&] { return here_.Stored().size() == 2; }));
  const std::string next = News(3);
  there_.Publish(next);
  for (WebClient* reader : {&reader_here, &reader_there}) {
    EXPECT_EQ(EventOf(reader->Read().value_or("")), young);
    EXPECT_EQ(EventOf(reader->Read().value_or("")), next) << "and no more";
  }
  // An event of the sibling's client goes out by the link.
  sibling_.Publish(News(4));
  EXPECT_TRUE(Eventually([&] { return there_.Stored().size() == 4; }));
}

}  // namespace
}  // namespace weir
