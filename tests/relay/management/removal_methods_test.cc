// Calls that remove events by filter: the rights that they need, and what they answer.
#include "relay/management/removal_methods.h"

#include <atomic>

#include "tests/fixtures/eventually.h"
#include "tests/fixtures/has_text.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {
namespace {

class RemovalMethodsTest : public testing::Test {
 protected:
  RemovalMethodsTest() {
    SaveAll(*store_, {Plain(Author(1), 1000, 1), Plain(Author(1), 1001, 7)});
    AddRemovalMethods(methods_, jobs_);
  }

  HttpResponse Call(const std::string& method, const std::string& parameter, const char* rights = "all") const {
    return methods_.Answer(R"({"method":")" + method + R"(","params":[)" + parameter + "]}",
                           {.name = "npub1x", .rights = AdminRights::Parse(rights).value(), .payload = ""},
                           "192.0.2.1");
  }

  const TempDirectory directory_;
  const std::unique_ptr<RocksDbStore> store_ = MustOpen(SmallStore(directory_ / "db"));
  RemovalJobs jobs_{
      *store_, {}, [this](std::span<const EventId> ids, const std::atomic<bool>&) { return store_->Delete(ids); }};
  ManagementMethods methods_;
};

TEST_F(RemovalMethodsTest, BeginAndListRemovals) {
  EXPECT_EQ(Call("listeventremovals", "").body, "{\"result\":[]}\n");
  const HttpResponse begun = Call("removeevents", R"({"filters":[{"kinds":[1]}]})");
  EXPECT_TRUE(Has(begun.body, R"("by":"npub1x","order":"{\"filters\":[{\"kinds\":[1]}]}","dry_run":false)"))
      << begun.body;
  ASSERT_TRUE(Eventually([&] { return Has(Call("listeventremovals", "").body, "\"done\""); }));
  const std::string list = Call("listeventremovals", "", "read").body;
  EXPECT_TRUE(Has(list, R"("state":"done","matched":1,"removed":1,"error":"")")) << list;
  EXPECT_EQ(store_->Sizes().events, 1U);
}

TEST_F(RemovalMethodsTest, NeedTheRightToDoEverything) {
  for (const char* rights : {"read", "moderate", "settings", "moderate+settings"}) {
    EXPECT_EQ(Call("removeevents", R"({"filters":[{"kinds":[1]}]})", rights).status, 403) << rights;
    EXPECT_EQ(Call("cancelremoval", "1", rights).status, 403) << rights;
  }
  EXPECT_TRUE(jobs_.List().empty());
}

TEST_F(RemovalMethodsTest, SayWhatIsWrong) {
  EXPECT_TRUE(Has(Call("removeevents", R"({"filters":[{}]})").body, "matches every event"));
  EXPECT_TRUE(Has(Call("removeevents", "").body, "the removal is missing"));
  EXPECT_TRUE(Has(Call("cancelremoval", "7").body, "no removal 7 goes on; listeventremovals lists the last ones"));
  EXPECT_TRUE(Has(Call("cancelremoval", "99999999999999999999").body, "no removal 99999999999999999999 goes on"));
  EXPECT_TRUE(jobs_.List().empty());
}

}  // namespace
}  // namespace weir
