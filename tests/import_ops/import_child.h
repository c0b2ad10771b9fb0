// `weir import` as another process, and this program once more with one of its tests.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/store/store_fixture.h"

namespace weir {

// In the environment of a process that is not to run tests.
inline constexpr const char* kImportChild = "WEIR_IMPORT_CHILD";

std::string ReadAll(const std::string& path);
void WriteAll(const std::string& path, std::string_view bytes);
// True as soon as it is; false after a minute.
bool Eventually(const std::function<bool()>& condition);

struct Ran {
  int code = 0;  // minus the signal that ended it
  std::string out;
  std::string err;
};

// Its standard output and error go into files of a directory that lasts as long as it does.
class ImportChild {
 public:
  enum class Input : uint8_t { kNone, kPipe, kClosed };

  // The environment is added to this process's own.
  explicit ImportChild(const std::vector<std::string>& arguments, Input input = Input::kNone,
                       const std::map<std::string, std::string>& environment = {{kImportChild, "1"}});
  ~ImportChild();  // kills what still runs
  ImportChild(const ImportChild&) = delete;
  ImportChild& operator=(const ImportChild&) = delete;

  // All of it; false if nobody reads it any more.
  bool Write(std::string_view bytes);
  void EndInput();
  void Signal(int signal);
  std::string err() const { return ReadAll(directory_ / "err"); }
  Ran Wait();

 private:
  TempDirectory directory_;
  pid_t pid_ = -1;
  int input_ = -1;
};

}  // namespace weir
