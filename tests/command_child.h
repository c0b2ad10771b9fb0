// A command of weir as another process: this program once more, whose main() knows by its environment what to run.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "tests/temp_directory.h"

namespace weir {

struct Ran {
  int code = 0;  // minus the signal that ended it
  std::string out;
  std::string err;
};

// Its standard output and error go into files of a directory that lasts as long as it does.
class CommandChild {
 public:
  enum class Input : uint8_t { kNone, kPipe, kClosed };

  // The first argument is its name. The environment is all that it has.
  CommandChild(std::vector<std::string> arguments, const Environment& environment, Input input = Input::kNone);
  ~CommandChild();  // kills what still runs
  CommandChild(const CommandChild&) = delete;
  CommandChild& operator=(const CommandChild&) = delete;

  // All of it; false if nobody reads it any more.
  bool Write(std::string_view bytes);
  void EndInput();
  void Signal(int signal);
  bool runs() const;
  std::string out() const { return TextOf(directory_ / "out"); }
  std::string err() const { return TextOf(directory_ / "err"); }
  Ran Wait();

 private:
  TempDirectory directory_;
  pid_t pid_ = -1;
  int input_ = -1;
};

}  // namespace weir
