#include "database/records.h"

#include "database/internal/text.h"
#include "schedules/base/hash.h"

namespace kindred {

std::string KernelHash(const std::string& code, const std::string& package) {
  std::string both = code;
  both.push_back('\0');
  both += CompactJson(package);
  return HashOf(both).Hex();
}

}  // namespace kindred
