// Keeping a process on the processors and the memory next to its GPU.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace strata::device::cuda {

// The processors of a list as Linux writes it, "0-3,8,10-11". Empty where it is none.
std::vector<int> parse_processor_list(std::string_view list);

// Keeps the calling thread, and those it starts from now on, to the processors next to the PCI
// device at `address` ("0000:3b:00.0", in either case) as far as it may use them; the memory they
// touch first then is next to it too. Changes nothing where /sys below `root` does not say which
// they are, or none may be used.
void bind_to_nearest_processors(std::string address, const std::filesystem::path& root = "/");

}  // namespace strata::device::cuda
