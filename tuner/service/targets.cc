#include "tuner/service/targets.h"

#include <fmt/format.h>

#include "tuner/record_mapping.h"

namespace kindred {

Result<Target> ServedTargets::Find(const std::string& name) {
  MutexLock lock(mutex_);
  if (const auto found = found_.find(name); found != found_.end()) return found->second;
  if (name.find('@') != std::string::npos) {
    KINDRED_TRY(const auto record, log_.FindTarget(name));
    if (!record)
      return BadInput(fmt::format("the log has no target '{}'; `kindred log ls` names them", name));
    KINDRED_TRY(Target target, ToTarget(*record));
    return found_.emplace(name, std::move(target)).first->second;
  }
  KINDRED_TRY(Target target, probe_(name));
  return found_.emplace(name, std::move(target)).first->second;
}

}  // namespace kindred
