// How /v1/responses words an answer: one object, or events with sequence numbers whose deltas join
// to it. Keeps what is to be stored.
#pragma once

#include <memory>

#include "server/generation.h"
#include "server/responses_request.h"

namespace mlxcel::server {

// `request.conversation` and `request.wishes` are not used. The stores must outlive it.
std::unique_ptr<Wording> responses_wording(ResponsesRequest request, Stores& stores,
                                           std::string owner);

}  // namespace mlxcel::server
