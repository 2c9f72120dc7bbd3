#include "measure/cuda/dynamic_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace kindred {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOnlyThese = "KINDRED_CUDA_LIBRARIES";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void AddIfFolder(const fs::path& folder, std::vector<std::string>* folders) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) folders->push_back(folder.string());
}

// <packages>/nvidia/<package>/lib
void AddWheels(const fs::path& packages, std::vector<std::string>* folders) {
  std::error_code ignored;
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(packages / "nvidia", ignored))
    AddIfFolder(entry.path() / "lib", &found);
  std::sort(found.rbegin(), found.rend());
  folders->insert(folders->end(), found.begin(), found.end());
}

// The packages of each Python 3 below <prefix>/lib.
void AddPrefix(const fs::path& prefix, std::vector<std::string>* folders) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(prefix / "lib", ignored)) {
    if (!entry.path().filename().string().starts_with("python3")) continue;
    AddWheels(entry.path() / "site-packages", folders);
    AddWheels(entry.path() / "dist-packages", folders);
  }
}

std::string PathOf(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map->l_name[0] == '\0') return name;
  return map->l_name;
}

}  // namespace

std::vector<std::string> CudaLibraryFolders() {
  std::vector<std::string> folders;
  if (const std::string named = Variable(kOnlyThese); !named.empty()) {
    std::istringstream list(named);
    for (std::string folder; std::getline(list, folder, ':');) AddIfFolder(folder, &folders);
    return folders;
  }
  for (const std::string& toolkit :
       {Variable("CUDA_HOME"), Variable("CUDA_PATH"), std::string("/usr/local/cuda")}) {
    if (toolkit.empty()) continue;
    AddIfFolder(fs::path(toolkit) / "lib64", &folders);
    AddIfFolder(fs::path(toolkit) / "lib", &folders);
  }
  if (const std::string venv = Variable("VIRTUAL_ENV"); !venv.empty()) AddPrefix(venv, &folders);
  std::error_code ignored;
  fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (int above = 0; above <= 2; ++above) {
    AddPrefix(beside / "cuda-venv", &folders);
    beside = beside.parent_path();
  }
  if (const std::string home = Variable("HOME"); !home.empty())
    AddPrefix(fs::path(home) / ".local", &folders);
  AddPrefix("/usr/local", &folders);
  AddPrefix("/usr", &folders);
  return folders;
}

Result<std::unique_ptr<DynamicLibrary>> DynamicLibrary::Open(std::span<const std::string> names,
                                                             const std::string& what,
                                                             const std::string& wheel) {
  std::string said;
  const auto attempt = [&](const std::string& file) -> std::unique_ptr<DynamicLibrary> {
    void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) return nullptr;
    return std::unique_ptr<DynamicLibrary>(new DynamicLibrary(handle, PathOf(handle, file)));
  };
  const auto attempt_in = [&](const std::string& folder) -> std::unique_ptr<DynamicLibrary> {
    for (const std::string& name : names) {
      const std::string file = folder + "/" + name;
      std::error_code ignored;
      if (!fs::exists(file, ignored)) continue;
      if (auto library = attempt(file)) return library;
      said = dlerror();
    }
    return nullptr;
  };
  if (Variable(kOnlyThese).empty())
    for (const std::string& name : names)
      if (auto library = attempt(name)) return library;
  for (const std::string& folder : CudaLibraryFolders())
    if (auto library = attempt_in(folder)) return library;
  return Environment("no " + what + " (" + names.front() +
                     ") in a CUDA toolkit or a Python environment: install either (scripts/setup "
                     "puts the package " +
                     wheel +
                     " into build/cuda-venv), or name its folder in KINDRED_CUDA_LIBRARIES" +
                     (said.empty() ? "" : "; the last attempt said: " + said));
}

void* DynamicLibrary::FindAddress(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace kindred
