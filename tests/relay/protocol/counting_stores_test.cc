// A COUNT that is too large, on both stores.
#include "relay/protocol/counting.h"
#include "tests/relay/store/postgres/each_store.h"

namespace weir {
namespace {

class CountingStoresTest : public EachStoreTest {
 protected:
  void Start() override {
    std::vector<PlainEvent> notes;
    for (uint64_t n = 0; n < 3000; ++n) notes.push_back(Plain(Author(n % 50), 1000 + n, n % 4 == 0 ? 7 : 1));
    SaveAll(*store_, notes);
  }
  // Counts kind 1, a tenth of it one by one.
  std::unique_ptr<Counting> CountNotes(bool with_search = false) const {
    Filter notes{.kinds = {{1}}};
    if (with_search) notes.search = "word";
    const std::vector<Filter> filters = {notes};
    const auto query = store_->Find({Filter{.kinds = {{1}}}}, {.default_limit = UINT64_MAX, .max_limit = UINT64_MAX});
    auto counting = std::make_unique<Counting>("n", filters, 1, 225 * (kVisitWork + 2 * kRecordWork));
    Result<Progress> progress = Progress::kMore;
    while (progress.ok() && progress.value() == Progress::kMore)
      progress = counting->Next(*store_, query.get(), kTurnWork / 16);
    EXPECT_TRUE(progress.ok()) << progress.status().message();
    return counting;
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, CountingStoresTest, EachStore(), NameOfStore);

TEST_P(CountingStoresTest, ASetThatIsTooLargeIsEstimated) {
  const auto counting = CountNotes();
  EXPECT_EQ(counting->refusal(), "");
  EXPECT_TRUE(counting->is_estimate());
  EXPECT_NEAR(static_cast<double>(counting->events()), 2250, 100);
  EXPECT_TRUE(counting->TakeAnswer().ends_with(R"(,"approximate":true}])"));
}

TEST_P(CountingStoresTest, ASearchThatIsTooLargeIsRefused) {
  const auto counting = CountNotes(true);
  EXPECT_FALSE(counting->is_estimate());
  EXPECT_TRUE(counting->refusal().starts_with("restricted: this looks at too much")) << counting->refusal();
}

}  // namespace
}  // namespace weir
