#include "relay/net/grpc/grpc_reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "config/text/parse.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "relay/net/grpc/grpc_service.h"

namespace weir {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using Services = std::shared_ptr<const std::vector<std::string>>;

// Adds a file, followed by all files that it imports, each once.
template <typename Files>
void AddFile(const FileDescriptor& file, std::set<const FileDescriptor*>* added, Files* files) {
  if (!added->insert(&file).second) return;
  google::protobuf::FileDescriptorProto text;
  file.CopyTo(&text);
  text.SerializeToString(files->add_file_descriptor_proto());
  for (int i = 0; i < file.dependency_count(); ++i) AddFile(*file.dependency(i), added, files);
}

// One version of the service. The versions differ only in the names of their messages.
template <typename Request, typename Response>
class Reflection final : public GrpcStreamHandler {
 public:
  Reflection(GrpcStream& stream, Services services) : stream_(stream), services_(std::move(services)) {}

  void OnMessage(std::string_view framed) override {
    Response response;
    Request& request = *response.mutable_original_request();
    if (const GrpcStatus read = ReadGrpcMessage(framed, &request); !read.ok()) return stream_.Finish(read);
    response.set_valid_host(request.host());
    Answer(request, &response);
    stream_.Send(response);
  }
  void OnMessagesEnd() override { stream_.Finish({}); }

 private:
  void Answer(const Request& request, Response* response) const {
    const DescriptorPool& pool = *DescriptorPool::generated_pool();
    switch (request.message_request_case()) {
      case Request::kFileByFilename:
        return AnswerFile(pool.FindFileByName(request.file_by_filename()), request.file_by_filename(), response);
      case Request::kFileContainingSymbol:
        return AnswerFile(pool.FindFileContainingSymbol(request.file_containing_symbol()),
                          request.file_containing_symbol(), response);
      case Request::kFileContainingExtension:
        return AnswerError(GrpcCode::kNotFound, "there are no extensions", response);
      case Request::kAllExtensionNumbersOfType: {
        const std::string& type = request.all_extension_numbers_of_type();
        if (pool.FindMessageTypeByName(type) == nullptr) return AnswerFile(nullptr, type, response);
        return response->mutable_all_extension_numbers_response()->set_base_type_name(type);
      }
      case Request::kListServices:
        for (const std::string& name : *services_)
          response->mutable_list_services_response()->add_service()->set_name(name);
        return;
      case Request::MESSAGE_REQUEST_NOT_SET:
        return AnswerError(GrpcCode::kInvalidArgument, "it asks for nothing", response);
    }
  }

  static void AnswerFile(const FileDescriptor* file, std::string_view name, Response* response) {
    if (file == nullptr) return AnswerError(GrpcCode::kNotFound, "there is no " + Printable(name), response);
    std::set<const FileDescriptor*> added;
    AddFile(*file, &added, response->mutable_file_descriptor_response());
  }

  static void AnswerError(GrpcCode code, const std::string& message, Response* response) {
    response->mutable_error_response()->set_error_code(static_cast<int>(code));
    response->mutable_error_response()->set_error_message(message);
  }

  GrpcStream& stream_;
  const Services services_;
};

}  // namespace

void AddGrpcReflection(HttpRouter& router, std::vector<std::string> services) {
  namespace v1 = grpc::reflection::v1;
  namespace v1alpha = grpc::reflection::v1alpha;
  constexpr std::string_view kNames[] = {"grpc.reflection.v1.ServerReflection",
                                         "grpc.reflection.v1alpha.ServerReflection"};
  services.insert(services.end(), std::begin(kNames), std::end(kNames));
  const auto shared = std::make_shared<const std::vector<std::string>>(std::move(services));
  const auto add = [&]<typename Handler>(std::string_view name, std::type_identity<Handler>) {
    GrpcService(router, name).AddStream("ServerReflectionInfo", [shared](const GrpcCall&, GrpcStream& stream) {
      return std::make_shared<Handler>(stream, shared);
    });
  };
  add(kNames[0], std::type_identity<Reflection<v1::ServerReflectionRequest, v1::ServerReflectionResponse>>());
  add(kNames[1], std::type_identity<Reflection<v1alpha::ServerReflectionRequest, v1alpha::ServerReflectionResponse>>());
}

}  // namespace weir
