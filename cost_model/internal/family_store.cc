// The saved form of FamilyModels: CBOR with one UBJSON model of XGBoost per ensemble member.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cost_model/features.h"
#include "cost_model/internal/family_state.h"

namespace kindred {
namespace {

constexpr int kFormatVersion = 1;

Error DamagedModels() {
  return BadInput("the saved cost models are damaged; delete them, they are learned anew");
}

std::string FeatureVersion(DeviceKind kind) {
  std::string names;
  for (const std::string_view name : FeatureNames(kind)) names.append(name).push_back(',');
  return HashOf(names).Hex();
}

}  // namespace

std::string FamilyModels::Save() const {
  const auto pack = [&](const Ensemble& ensemble) {
    nlohmann::json members = nlohmann::json::array();
    for (const Booster& member : ensemble.members) {
      Result<std::string> blob = member.Save();
      if (!blob) {
        state_->Keep(blob.error());
        return nlohmann::json();
      }
      members.push_back(nlohmann::json::binary({blob->begin(), blob->end()}));
    }
    return nlohmann::json{
        {"rows", ensemble.rows}, {"error", ensemble.error.mean}, {"members", members}};
  };
  nlohmann::json saved = {{"format", "kindred-models"},
                          {"version", kFormatVersion},
                          {"features", FeatureVersion(state_->target.kind)},
                          {"target", state_->target.id},
                          {"pooled", pack(state_->pooled)},
                          {"families", nlohmann::json::array()}};
  for (const auto& [id, family] : state_->families) {
    nlohmann::json packed = pack(family);
    packed["id"] = id;
    saved["families"].push_back(std::move(packed));
  }
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_cbor(saved);
  return {bytes.begin(), bytes.end()};
}

Result<void> FamilyModels::Load(std::string_view blob) try {
  const nlohmann::json saved = nlohmann::json::from_cbor(blob.begin(), blob.end());
  const Error broken = DamagedModels();
  if (!saved.is_object() || saved.value("format", "") != "kindred-models") return broken;
  if (saved.value("version", 0) != kFormatVersion ||
      saved.value("features", "") != FeatureVersion(state_->target.kind))
    return Unsupported(
        "the saved cost models are of another version of Kindred; delete them, they are learned "
        "anew");
  if (saved.value("target", "") != state_->target.id)
    return BadInput(fmt::format("the saved cost models are for target {}, not {}",
                                saved.value("target", ""), state_->target.id));
  const auto unpack = [&](const nlohmann::json& packed, Ensemble& ensemble) -> Result<void> {
    if (!packed.is_object() || !packed.contains("members")) return broken;
    for (const nlohmann::json& member : packed["members"]) {
      if (!member.is_binary()) return broken;
      const auto& bytes = member.get_binary();
      KINDRED_TRY(Booster booster,
                  Booster::Load({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
      ensemble.members.push_back(std::move(booster));
    }
    ensemble.rows = packed.value("rows", std::size_t{0});
    ensemble.error.mean = packed.value("error", ForecastError::kUnknown * ForecastError::kUnknown);
    return {};
  };
  Ensemble pooled;
  KINDRED_CHECK(unpack(saved["pooled"], pooled));
  std::map<int, Ensemble> families;
  for (const nlohmann::json& packed : saved["families"])
    KINDRED_CHECK(unpack(packed, families[packed.value("id", 0)]));
  pooled.dirty = state_->pooled.dirty;
  state_->pooled = std::move(pooled);
  state_->families = std::move(families);
  return {};
} catch (const nlohmann::json::exception&) {
  return DamagedModels();
}

}  // namespace kindred
