#include "tuner/included_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/measure/scratch.h"

namespace kindred {
namespace {

using testing::ElementsAre;

TEST(IncludedFiles, AreFoundBesideTheFileAndAlongThePaths) {
  const Scratch scratch;
  const auto write = [&](const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(scratch.path()) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  };
  write("a.h", "#pragma once\n#include \"sub/b.h\"\n");
  write("sub/b.h", "  #  include \"c.h\"  // beside b\n#include \"a.h\"\n");
  write("sub/c.h", "c\n");
  write("paths/d.h", "#include <e.h>\n");
  write("paths/e.h", "e\n");
  const auto files = IncludedFiles(
      "#include <stdio.h>\n#include \"a.h\"\n#if 0\n#include \"d.h\"\n#endif\n"
      "#include \"nowhere.h\"\n#include MACRO\n// #include \"c.h\"\n#include \"unclosed\n",
      scratch.path(), {scratch.path() + "/paths"});
  std::vector<std::string> names;
  for (const IncludedFile& file : files) names.push_back(file.name);
  EXPECT_THAT(names, ElementsAre("a.h", "sub/b.h", "c.h", "d.h", "e.h"));
  EXPECT_EQ(files[2].text, "c\n");
  EXPECT_TRUE(IncludedFiles("#include <a.h>\n", scratch.path(), {}).empty());
}

}  // namespace
}  // namespace kindred
