// The sampling flags of generate and run, in the spelling of llama.cpp where it has one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chat/chat_model.h"
#include "cli/command_line.h"
#include "sampling/params.h"

namespace mlxcel {

struct SamplingArguments {
  SamplingParams values;  // as the flags set them; temperature 0 unless --temp says otherwise
  std::vector<std::string> stops;     // texts; the answer ends before the first
  std::vector<std::string> biases;    // "ID=VALUE"
  std::vector<std::string> breakers;  // texts that no DRY match crosses
  std::optional<uint64_t> seed;

  // Complete and checked, with the model's end ids.
  Result<SamplingParams> params(const ChatModel& chat) const;
};

void add_sampling_arguments(CommandLine& sub, SamplingArguments& a);

}  // namespace mlxcel
