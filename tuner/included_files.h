// The files that a kernel's source includes, and those include.
#pragma once

#include <string>
#include <vector>

namespace kindred {

struct IncludedFile {
  std::string name;  // as an #include names it
  std::string text;
};

// `text` lies in `folder`. Names in quotes are looked for beside the file that includes them, then
// along `paths`; names in angle brackets along `paths` only. Each file once, in the order in which
// they are met; conditions of the preprocessor do not count, and what is nowhere (the compiler's
// own headers) is left out.
std::vector<IncludedFile> IncludedFiles(const std::string& text, const std::string& folder,
                                        const std::vector<std::string>& paths);

}  // namespace kindred
