#include "config/cores.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace weir {
namespace {

namespace fs = std::filesystem;

class CoresTest : public testing::Test {
 protected:
  CoresTest() {
    std::string name = (fs::temp_directory_path() / "weir-cores-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~CoresTest() override { fs::remove_all(root_); }

  void Write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  unsigned Count() const { return Cores((root_ / "proc").string(), (root_ / "cgroup").string()); }

  const unsigned all_ = std::max(1U, std::thread::hardware_concurrency());
  fs::path root_;
};

TEST_F(CoresTest, WithoutAQuotaAllOfThem) {
  EXPECT_EQ(Count(), all_) << "no cgroups";
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("cgroup/a/b/cpu.max", "max 100000\n");
  Write("cgroup/cpu.max", "not what the kernel writes\n");
  EXPECT_EQ(Count(), all_);
}

TEST_F(CoresTest, TheLeastQuotaOnTheWayToTheRootCountsRoundedUp) {
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("cgroup/a/b/cpu.max", "max 100000\n");
  Write("cgroup/a/cpu.max", "50000 100000\n");
  EXPECT_EQ(Count(), 1U);
  Write("cgroup/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(Count(), std::min(2U, all_));
}

TEST_F(CoresTest, AContainerSeesItsGroupAtTheMountsRoot) {
  Write("proc/self/cgroup", "0::/only/the/host/has/this\n");
  Write("cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(Count(), 1U);
}

TEST_F(CoresTest, KnowsTheFirstVersionOfCgroups) {
  Write("proc/self/cgroup", "7:memory:/a\n4:cpu,cpuacct:/a\n");
  Write("cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
  Write("cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Count(), all_);
  Write("cgroup/cpu/a/cpu.cfs_quota_us", "80000\n");
  EXPECT_EQ(Count(), 1U);
}

}  // namespace
}  // namespace weir
