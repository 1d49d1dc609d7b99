// Where modules are looked for: what is named, what is beside this code, and never a relative path.
#include "runtime/module_folders.h"

#include <gtest/gtest.h>

#include <sstream>

namespace infini {
namespace {

using Paths = std::vector<std::filesystem::path>;

TEST(ModuleFolders, ALibraryLooksBesideItself) {
  const auto found = module_folders({.variable = "", .file = "/opt/lib/libinfini.so"});
  EXPECT_EQ(Paths{"/opt/lib"}, found.folders);
  EXPECT_TRUE(found.remarks.empty());
}

TEST(ModuleFolders, AProgramLooksInTheLibFolderBesideItsOwn) {
  const auto found =
      module_folders({.variable = "", .file = "/opt/bin/infini", .is_program = true});
  ASSERT_EQ(4u, found.folders.size());
  EXPECT_EQ("/opt/bin", found.folders[0]);
  EXPECT_EQ("/opt/lib", found.folders[1]);
}

TEST(ModuleFolders, TheVariableNamesAbsoluteFolders) {
  const auto found =
      module_folders({.variable = "/a:lib::/b/../c", .file = "/opt/lib/libinfini.so"});
  EXPECT_EQ((Paths{"/a", "/c"}), found.folders);
  ASSERT_EQ(1u, found.remarks.size());
  EXPECT_NE(std::string::npos, found.remarks[0].find("\"lib\""));
}

TEST(ModuleFolders, NothingRelativeIsFollowed) {
  for (const char* file : {"infini", "./infini", "../lib/libinfini.so", ""})
    for (const char* variable : {"", "lib", "./lib", ".", "..", ":", "::"})
      for (const bool is_program : {false, true}) {
        const auto found =
            module_folders({.variable = variable, .file = file, .is_program = is_program});
        EXPECT_TRUE(found.folders.empty()) << file << " " << variable;
        EXPECT_FALSE(found.remarks.empty()) << file << " " << variable;
      }
}

TEST(ModuleFolders, APrivilegedProgramTrustsNeitherTheVariableNorItsOwnFolder) {
  const auto program = module_folders(
      {.variable = "/evil", .file = "/evil/infini", .is_program = true, .is_privileged = true});
  EXPECT_TRUE(program.folders.empty());
  EXPECT_EQ(2u, program.remarks.size());
  const auto library =
      module_folders({.variable = "/evil", .file = "/opt/lib/libinfini.so", .is_privileged = true});
  EXPECT_EQ(Paths{"/opt/lib"}, library.folders);
}

TEST(ModuleFolders, TheFileThatHoldsAnAddressIsReadFromTheMaps) {
  const std::string text =
      "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/a program\n"
      "00e03000-00e24000 rw-p 00000000 00:00 0           [heap]\n"
      "35b1800000-35b1820000 r-xp 00000000 08:02 135522  /usr/lib/libinfini.so (deleted)\n"
      "35b1a21000-35b1a22000 rw-p 00000000 00:00 0\n";
  const auto at = [&](uintptr_t address) {
    std::istringstream maps(text);
    return file_mapped_at(maps, address);
  };
  EXPECT_EQ("/usr/bin/a program", at(0x400000));
  EXPECT_EQ("/usr/bin/a program", at(0x451fff));
  EXPECT_EQ("", at(0x452000));
  EXPECT_EQ("", at(0xe03000));
  EXPECT_EQ("/usr/lib/libinfini.so (deleted)", at(0x35b1800010));
  EXPECT_EQ("", at(0x35b1a21000));
}

}  // namespace
}  // namespace infini
