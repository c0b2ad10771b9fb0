#include "relay/net/grpc/grpc_reflection.h"

#include <google/protobuf/descriptor.pb.h>

#include <string>
#include <vector>

#include "grpc/reflection/v1/reflection.pb.h"
#include "test/greeter.pb.h"
#include "tests/relay/net/grpc/grpc_fixture.h"

namespace weir {
namespace {

using grpc::reflection::v1::ServerReflectionResponse;

class GrpcReflectionTest : public ServerTest {
 protected:
  GrpcReflectionTest() {
    test::Name::descriptor();  // or the linker leaves the file out
    AddGrpcReflection(router_, {"test.Greeter"});
    Start();
  }
  ~GrpcReflectionTest() override { server_.reset(); }

  // Asks in the text format of Protocol Buffers.
  ServerReflectionResponse Ask(const std::string& question, const std::string& version = "v1") {
    const auto request = Written<grpc::reflection::v1::ServerReflectionRequest>(question);
    Http2Peer peer(Connect());
    auto response = MessageIn<ServerReflectionResponse>(
        CallGrpc(peer, "/grpc.reflection." + version + ".ServerReflection/ServerReflectionInfo", request));
    EXPECT_EQ(response.original_request().SerializeAsString(), request.SerializeAsString());
    return response;
  }
  std::vector<std::string> FilesFor(const std::string& question, const std::string& version = "v1") {
    const ServerReflectionResponse response = Ask(question, version);
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
  for (const std::string version : {"v1", "v1alpha"}) {
    const ServerReflectionResponse response = Ask("host: 'here' list_services: ''", version);
    EXPECT_EQ(response.valid_host(), "here");
    std::vector<std::string> names;
    for (const auto& service : response.list_services_response().service()) names.push_back(service.name());
    EXPECT_EQ(names, (std::vector<std::string>{"test.Greeter", "grpc.reflection.v1.ServerReflection",
                                               "grpc.reflection.v1alpha.ServerReflection"}));
    for (const std::string& name : names)
      EXPECT_EQ(FilesFor("file_containing_symbol: '" + name + "'", version).size(), 1U) << name;
  }
}

TEST_F(GrpcReflectionTest, FindsFilesByNameAndBySymbol) {
  for (const char* question : {"file_containing_symbol: 'test.Greeter'", "file_containing_symbol: 'test.Greeter.Greet'",
                               "file_containing_symbol: 'test.Name.times'", "file_by_filename: 'test/greeter.proto'"})
    EXPECT_EQ(FilesFor(question), std::vector<std::string>{"test/greeter.proto"}) << question;
}

TEST_F(GrpcReflectionTest, SaysWhatIsNotThere) {
  const struct {
    const char* name;
    std::string question;
    GrpcCode code;
  } cases[] = {
      {"a symbol", "file_containing_symbol: 'test.Nobody'", GrpcCode::kNotFound},
      {"a long symbol", "file_containing_symbol: '" + std::string(8000, 'x') + "'", GrpcCode::kNotFound},
      {"a file", "file_by_filename: 'nothing.proto'", GrpcCode::kNotFound},
      {"an extension", "file_containing_extension { containing_type: 'test.Name' }", GrpcCode::kNotFound},
      {"a type", "all_extension_numbers_of_type: 'test.Nobody'", GrpcCode::kNotFound},
      {"a question", "", GrpcCode::kInvalidArgument},
  };
  for (const auto& c : cases)
    EXPECT_EQ(static_cast<GrpcCode>(Ask(c.question).error_response().error_code()), c.code) << c.name;
  EXPECT_EQ(Ask("all_extension_numbers_of_type: 'test.Name'").all_extension_numbers_response().base_type_name(),
            "test.Name");
}

TEST_F(GrpcReflectionTest, AnswersEachQuestionOfAStream) {
  const auto frame = [](const std::string& question) {
    return GrpcFrame(Written<grpc::reflection::v1::ServerReflectionRequest>(question).SerializeAsString());
  };
  Http2Peer peer(Connect());
  const RawAnswer answer = peer.Fetch("POST", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                                      frame("host: 'a'") + frame("host: 'b'"), kGrpcFields);
  EXPECT_EQ(GrpcCodeOf(answer), GrpcCode::kOk) << MessageOf(answer);
  std::vector<std::string> hosts;
  for (const auto& response : MessagesIn<ServerReflectionResponse>(answer.body)) hosts.push_back(response.valid_host());
  EXPECT_EQ(hosts, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace weir
