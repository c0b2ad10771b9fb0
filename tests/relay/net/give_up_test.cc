// Connections that are closed when memory is short: those that hold most.
#include "tests/relay/net/server_fixture.h"

namespace weir {
namespace {

class GiveUpTest : public ServerTest {
 protected:
  void StartWithLedger() {
    server_ = std::make_unique<Server>(
        settings_, router_,
        [this](Connection& connection) {
          account_ = connection.account();
          return std::make_shared<RecordingHandler>(connection, behaviour_, record_);
        },
        ledger_);
    const Status status = server_->Listen();
    ASSERT_TRUE(status.ok()) << status.message();
    server_->Accept();
  }

  const std::shared_ptr<Ledger> ledger_ = std::make_shared<Ledger>(Ledger::Bounds{});
  std::shared_ptr<Account> account_;
};

TEST_F(GiveUpTest, AConnectionIsClosedWithTheReason) {
  StartWithLedger();
  RawClient client = Open();
  ASSERT_TRUE(record_.Await("open"));
  const HeldBytes held(account_, 1000);
  EXPECT_EQ(ledger_->AskHeaviest(1), 1000U);
  const std::optional<RawFrame> frame = client.ReadFrame();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->close_code(), 1013);
  EXPECT_TRUE(Has(frame->payload, "makes this relay hold most: 1000 bytes")) << frame->payload;
  EXPECT_EQ(record_.Count("give up: memory is short"), 1U);
}

TEST_F(GiveUpTest, OutputThatIsNotTakenIsDroppedAtOnce) {
  Connection* connection = nullptr;
  behaviour_.on_open = [&](Connection& c) { connection = &c; };
  StartWithLedger();
  RawClient client(server_->port(), "127.0.0.1", 4096);
  ASSERT_TRUE(client.Handshake());
  ASSERT_TRUE(record_.Await("open"));
  OnIoThread([&] {
    for (int n = 0; n < 60; ++n) connection->Send(std::string(50'000, 'x'));
  });
  EXPECT_GT(ledger_->bytes(), 100'000U);
  ledger_->AskHeaviest(1);
  EXPECT_TRUE(Eventually([&] { return ledger_->bytes() < 100'000; })) << "but for what was being sent";
  ledger_->AskHeaviest(1);
  EXPECT_TRUE(record_.Await("end: memory is short")) << "asked again, it does not wait for the client any more";
  account_.reset();
  EXPECT_TRUE(Eventually([&] { return ledger_->bytes() == 0; }));
}

}  // namespace
}  // namespace weir
