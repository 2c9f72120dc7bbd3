#include <dlfcn.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "tests/bench/peers/contestant.h"

namespace kindred {
namespace {

using Entry = int (*)(void* const* buffers, const std::int64_t* extents, void* workspace);

struct Kernel {
  std::vector<Entry> steps;
  std::vector<Floats> memory;  // one per buffer
  std::vector<void*> buffers;
  Floats workspace;
  std::size_t output = 0;
};

[[noreturn]] void Fail(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + ": " + what);
}

Entry FindEntry(void* library, const std::string& path, const std::string& name) {
  void* entry = library != nullptr ? dlsym(library, name.c_str()) : nullptr;
  if (entry == nullptr) Fail(path, "no entry " + name + " in its library");
  return reinterpret_cast<Entry>(entry);
}

void Call(Entry entry, const Kernel& kernel) {
  if (const int code = entry(kernel.buffers.data(), nullptr, kernel.workspace.data()); code != 0) {
    throw std::runtime_error("a kernel returned " + std::to_string(code));
  }
}

void AddBuffer(const std::string& path, std::istringstream& line, const Subgraph& g,
               const Arrays& arrays, Kernel& kernel) {
  std::string access, name;
  std::int64_t elements = 0;
  if (!(line >> access >> name >> elements))
    Fail(path, "a buffer line needs access, name and elements");
  Floats memory(elements);
  if (access == "read") {
    const auto found = arrays.find(name);
    if (found == arrays.end() || found->second.size() != elements) {
      Fail(path, "buffer " + name + " of " + std::to_string(elements) +
                     " elements is none of the subgraph's");
    }
    std::memcpy(memory.data(), found->second.data(),
                static_cast<std::size_t>(elements) * sizeof(float));
  } else if (access == "write") {
    if (elements != g.OutputElements())
      Fail(path, "output " + name + " has not the subgraph's size");
    kernel.output = kernel.memory.size();
  } else if (access != "prepared") {
    Fail(path, "unknown access " + access);
  }
  kernel.memory.push_back(std::move(memory));
}

}  // namespace

Contestant KernelContestant(const std::string& path, const Subgraph& g, const Arrays& arrays) {
  std::ifstream file(path);
  if (!file) Fail(path, "cannot be read");
  const auto kernel = std::make_shared<Kernel>();
  Contestant contestant{"kindred", path, true, {}, {}};
  void* library = nullptr;
  Entry prepare = nullptr;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string word, value;
    line >> word;
    if (word == "buffer") {
      AddBuffer(path, line, g, arrays, *kernel);
      continue;
    }
    line >> std::ws;
    std::getline(line, value);
    if (word == "name") {
      contestant.name = value;
    } else if (word == "library") {
      library = dlopen(value.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) Fail(path, dlerror());
    } else if (word == "prepare") {
      prepare = FindEntry(library, path, value);
    } else if (word == "step") {
      kernel->steps.push_back(FindEntry(library, path, value));
    } else if (word == "workspace") {
      kernel->workspace = Floats(std::stoll(value) / static_cast<std::int64_t>(sizeof(float)) + 1);
    } else {
      Fail(path, "unknown line " + text);
    }
  }
  for (const Floats& memory : kernel->memory) kernel->buffers.push_back(memory.data());
  if (kernel->steps.empty()) Fail(path, "names no step");
  if (prepare != nullptr) Call(prepare, *kernel);

  contestant.run = [kernel] {
    for (const Entry step : kernel->steps) Call(step, *kernel);
  };
  contestant.output = [kernel] {
    const Floats& made = kernel->memory[kernel->output];
    Floats copy(made.size());
    std::memcpy(copy.data(), made.data(), static_cast<std::size_t>(copy.size()) * sizeof(float));
    return copy;
  };
  return contestant;
}

}  // namespace kindred
