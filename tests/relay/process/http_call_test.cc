// What a call offers and takes, whatever the system would.
#include "relay/process/http_call.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "tests/fixtures/temp_directory.h"

namespace weir {
namespace {

using boost::asio::ip::tcp;

// The client's first record, by which it says what it is ready for.
std::string HelloOfACall() {
  boost::asio::io_context io;
  tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  std::string hello;
  std::thread server([&] {
    tcp::socket socket(io);
    acceptor.accept(socket);
    std::array<unsigned char, 5> head{};
    boost::system::error_code error;
    boost::asio::read(socket, boost::asio::buffer(head), error);
    hello.resize(static_cast<size_t>(head[3]) << 8 | head[4]);
    boost::asio::read(socket, boost::asio::buffer(hello), error);
  });
  const auto url = ParseServerUrl("https://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()));
  (void)CallHttp(url.value(), {.path = "/", .timeout = std::chrono::minutes(1)});
  server.join();
  return hello;
}

// In a process of its own, whose OpenSSL is configured so that it would speak TLS 1.0.
TEST(HttpCallDeathTest, OffersNothingBeforeTls12WhereTheSystemWould) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const TempDirectory directory;
  std::ofstream(directory / "openssl.cnf") << "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = low\n"
                                              "[low]\nMinProtocol = TLSv1\nCipherString = DEFAULT:@SECLEVEL=0\n";
  setenv("OPENSSL_CONF", (directory / "openssl.cnf").c_str(), 1);
  const auto call = [] {
    // The extension supported_versions: 1.3 and 1.2.
    constexpr std::string_view kVersions("\0\x2b\0\x05\x04\x03\x04\x03\x03", 9);
    std::exit(HelloOfACall().find(kVersions) != std::string::npos ? 0 : 1);
  };
  EXPECT_EXIT(call(), testing::ExitedWithCode(0), "");
  unsetenv("OPENSSL_CONF");
}

}  // namespace
}  // namespace weir
