#include "relay/net/grpc/grpc_reflection.h"

#include <google/protobuf/descriptor.pb.h>

#include <string>
#include <vector>

#include "grpc/reflection/v1/reflection.pb.h"
#include "relay/net/grpc/grpc_message.h"
#include "test/greeter.pb.h"
#include "tests/relay/net/grpc/grpc_fixture.h"

namespace weir {
namespace {

using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;

class GrpcReflectionTest : public ServerTest {
 protected:
  GrpcReflectionTest() {
    test::Name::descriptor();  // or the linker leaves the file out
    AddGrpcReflection(router_, {"test.Greeter"});
  }
  ~GrpcReflectionTest() override { server_.reset(); }

  std::vector<ServerReflectionResponse> Ask(const std::vector<ServerReflectionRequest>& requests,
                                            const std::string& version = "v1") {
    std::string body;
    for (const auto& request : requests) body += GrpcFrame(request.SerializeAsString());
    Http2Peer peer(Connect());
    const RawAnswer answer =
        peer.Fetch("POST", "/grpc.reflection." + version + ".ServerReflection/ServerReflectionInfo", body, kGrpcFields);
    EXPECT_EQ(GrpcCodeOf(answer), GrpcCode::kOk) << MessageOf(answer);
    std::vector<ServerReflectionResponse> responses;
    std::string_view rest = answer.body;
    for (size_t bytes = 0; FindGrpcMessage(rest, SIZE_MAX, &bytes).ok() && bytes > 0; rest.remove_prefix(bytes))
      EXPECT_TRUE(ReadGrpcMessage(rest.substr(0, bytes), &responses.emplace_back()).ok());
    return responses;
  }
  static ServerReflectionRequest SymbolRequest(const std::string& symbol) {
    ServerReflectionRequest request;
    request.set_file_containing_symbol(symbol);
    return request;
  }
  static std::vector<std::string> FilesOf(const ServerReflectionResponse& response) {
    std::vector<std::string> names;
    for (const std::string& text : response.file_descriptor_response().file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      EXPECT_TRUE(file.ParseFromString(text));
      names.push_back(file.name());
    }
    return names;
  }
};

TEST_F(GrpcReflectionTest, ListsTheServicesInEitherVersion) {
  Start();
  ServerReflectionRequest request;
  request.set_host("here");
  request.set_list_services("");
  for (const std::string version : {"v1", "v1alpha"}) {
    const auto responses = Ask({request}, version);
    ASSERT_EQ(responses.size(), 1U);
    EXPECT_EQ(responses[0].valid_host(), "here");
    EXPECT_EQ(responses[0].original_request().SerializeAsString(), request.SerializeAsString());
    std::vector<std::string> names;
    for (const auto& service : responses[0].list_services_response().service()) names.push_back(service.name());
    EXPECT_EQ(names, (std::vector<std::string>{"test.Greeter", "grpc.reflection.v1.ServerReflection",
                                               "grpc.reflection.v1alpha.ServerReflection"}));
    for (const std::string& name : names)
      EXPECT_EQ(FilesOf(Ask({SymbolRequest(name)}, version).at(0)).size(), 1U) << name;
  }
}

TEST_F(GrpcReflectionTest, FindsFilesByNameAndBySymbol) {
  Start();
  ServerReflectionRequest by_name;
  by_name.set_file_by_filename("test/greeter.proto");
  for (const auto& response : Ask({SymbolRequest("test.Greeter"), SymbolRequest("test.Greeter.Greet"),
                                   SymbolRequest("test.Name.times"), by_name}))
    EXPECT_EQ(FilesOf(response), std::vector<std::string>{"test/greeter.proto"});
}

TEST_F(GrpcReflectionTest, SaysWhatIsNotThere) {
  Start();
  ServerReflectionRequest by_name, extension, numbers, none;
  by_name.set_file_by_filename("nothing.proto");
  extension.mutable_file_containing_extension()->set_containing_type("test.Name");
  numbers.set_all_extension_numbers_of_type("test.Nobody");
  const auto code = [](const ServerReflectionResponse& response) {
    return static_cast<GrpcCode>(response.error_response().error_code());
  };
  const auto responses =
      Ask({SymbolRequest("test.Nobody"), SymbolRequest(std::string(8000, 'x')), by_name, extension, numbers, none});
  ASSERT_EQ(responses.size(), 6U);
  for (size_t n = 0; n < 5; ++n) EXPECT_EQ(code(responses[n]), GrpcCode::kNotFound) << n;
  EXPECT_EQ(code(responses[5]), GrpcCode::kInvalidArgument);
  numbers.set_all_extension_numbers_of_type("test.Name");
  EXPECT_EQ(Ask({numbers}).at(0).all_extension_numbers_response().base_type_name(), "test.Name");
}

}  // namespace
}  // namespace weir
