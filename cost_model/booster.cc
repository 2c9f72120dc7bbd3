#include "cost_model/booster.h"

#include <memory>
#include <utility>

#include <fmt/format.h>
#include <xgboost/c_api.h>

namespace kindred {
namespace {

Error XgboostError(std::string_view doing) {
  return Environment(fmt::format("XGBoost failed while {}: {}", doing, XGBGetLastError()));
}

struct FreeMatrix {
  void operator()(void* matrix) const { XGDMatrixFree(matrix); }
};
using Matrix = std::unique_ptr<void, FreeMatrix>;

Result<Matrix> MakeMatrix(const TrainingRows& rows) {
  DMatrixHandle handle = nullptr;
  if (XGDMatrixCreateFromMat(rows.features.data(), rows.rows(), rows.columns, -1e30f, &handle) != 0)
    return XgboostError("taking in training rows");
  Matrix matrix(handle);
  const auto set = [&](const char* field, const std::vector<float>& values) {
    return values.empty() ||
           XGDMatrixSetFloatInfo(handle, field, values.data(), values.size()) == 0;
  };
  if (!set("label", rows.labels) || !set("base_margin", rows.margins) ||
      !set("weight", rows.weights))
    return XgboostError("taking in labels");
  return matrix;
}

}  // namespace

Booster::~Booster() {
  if (handle_) XGBoosterFree(handle_);
}

Booster::Booster(Booster&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      flat_(std::exchange(other.flat_, std::nullopt)) {}

Booster& Booster::operator=(Booster&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(flat_, other.flat_);
  return *this;
}

Result<void> Booster::Train(const TrainingRows& rows, const BoosterOptions& options) {
  KINDRED_TRY(const Matrix matrix, MakeMatrix(rows));
  DMatrixHandle data = matrix.get();
  BoosterHandle handle = nullptr;
  if (XGBoosterCreate(&data, 1, &handle) != 0) return XgboostError("making a booster");
  Booster fresh;
  fresh.handle_ = handle;
  const std::pair<const char*, std::string> parameters[] = {
      {"verbosity", "0"},
      {"nthread", "1"},
      {"booster", "gbtree"},
      {"tree_method", "hist"},
      {"objective", "reg:squarederror"},
      {"base_score", "0"},
      {"max_depth", std::to_string(options.max_depth)},
      {"max_bin", std::to_string(options.max_bin)},
      {"eta", fmt::format("{}", options.learning_rate)},
      {"lambda", fmt::format("{}", options.lambda)},
      {"min_child_weight", fmt::format("{}", options.minimum_child_weight)},
      {"subsample", fmt::format("{}", options.subsample)},
      {"colsample_bytree", fmt::format("{}", options.colsample)},
      {"seed", std::to_string(options.seed % 0x7fffffff)},
  };
  for (const auto& [name, value] : parameters)
    if (XGBoosterSetParam(handle, name, value.c_str()) != 0)
      return XgboostError("setting parameters");
  for (int round = 0; round < options.rounds; ++round)
    if (XGBoosterUpdateOneIter(handle, round, data) != 0) return XgboostError("training");
  KINDRED_CHECK(fresh.Flatten());
  *this = std::move(fresh);
  return {};
}

Result<void> Booster::Flatten() {
  KINDRED_TRY(const std::string saved, Save());
  flat_ = FlatTrees::FromUbjson(saved);
  return {};
}

Result<void> Booster::AddTo(std::span<const float> features, std::size_t columns,
                            std::span<double> margins) const {
  if (!flat_ || flat_->columns() != columns) return AddToByXgboost(features, columns, margins);
  flat_->AddTo(features, columns, margins);
  return {};
}

Result<void> Booster::AddToByXgboost(std::span<const float> features, std::size_t columns,
                                     std::span<double> margins) const {
  if (empty() || margins.empty()) return {};
  const std::string array =
      fmt::format(R"({{"data":[{},true],"shape":[{},{}],"typestr":"<f4","version":3}})",
                  reinterpret_cast<std::uintptr_t>(features.data()), margins.size(), columns);
  // type 1: the margin, without any transformation.
  static constexpr char kConfig[] =
      R"({"type":1,"training":false,"iteration_begin":0,"iteration_end":0,"strict_shape":false,)"
      R"("cache_id":0,"missing":-1e30})";
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* result = nullptr;
  if (XGBoosterPredictFromDense(handle_, array.c_str(), kConfig, nullptr, &shape, &dimensions,
                                &result) != 0)
    return XgboostError("predicting");
  for (std::size_t i = 0; i < margins.size(); ++i) margins[i] += static_cast<double>(result[i]);
  return {};
}

Result<std::string> Booster::Save() const {
  if (empty()) return std::string();
  bst_ulong length = 0;
  const char* bytes = nullptr;
  if (XGBoosterSaveModelToBuffer(handle_, R"({"format":"ubj"})", &length, &bytes) != 0)
    return XgboostError("saving a model");
  return std::string(bytes, length);
}

Result<Booster> Booster::Load(std::string_view blob) {
  Booster booster;
  if (blob.empty()) return booster;
  BoosterHandle handle = nullptr;
  if (XGBoosterCreate(nullptr, 0, &handle) != 0) return XgboostError("making a booster");
  booster.handle_ = handle;
  if (XGBoosterSetParam(handle, "verbosity", "0") != 0 ||
      XGBoosterSetParam(handle, "nthread", "1") != 0)
    return XgboostError("setting parameters");
  if (XGBoosterLoadModelFromBuffer(handle, blob.data(), blob.size()) != 0)
    return BadInput(fmt::format("the saved cost model cannot be read: {}", XGBGetLastError()));
  KINDRED_CHECK(booster.Flatten());
  return booster;
}

}  // namespace kindred
