// How /v1/messages words an answer: content blocks, whole or in events.
#pragma once

#include <memory>

#include "server/generation.h"

namespace mlxcel::server {

std::unique_ptr<Wording> messages_wording();

}  // namespace mlxcel::server
