// device.h, user_language.h and device_interface.h as text (from CMake), for compiling kernels.
#pragma once

#include <string_view>

namespace kindred::cuda_emulation {

extern const std::string_view kDeviceText;
extern const std::string_view kUserLanguageText;
extern const std::string_view kDeviceInterfaceText;

}  // namespace kindred::cuda_emulation
