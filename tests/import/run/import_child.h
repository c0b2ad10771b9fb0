// ImportChild: runs `weir import` in another process, which is this test program, started again.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/fixtures/command_child.h"
#include "tests/fixtures/eventually.h"
#include "tests/relay/store/store_fixture.h"

namespace weir {

// The environment variable that makes this program run `weir import` instead of tests.
inline constexpr const char* kImportChild = "WEIR_IMPORT_CHILD";

class ImportChild : public CommandChild {
 public:
  // The environment is added to this process's own.
  explicit ImportChild(const std::vector<std::string>& arguments, Input input = Input::kNone,
                       const std::map<std::string, std::string>& environment = {{kImportChild, "1"}});
};

}  // namespace weir
