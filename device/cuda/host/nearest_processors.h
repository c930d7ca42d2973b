// Binds a process to the processors and the memory next to its GPU.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace strata::device::cuda {

// Parses Linux's format of processor lists, "0-3,8,10-11". Returns an empty list for other texts.
std::vector<int> parse_processor_list(std::string_view list);

// Binds the calling thread, and threads that it starts later, to the processors next to the PCI
// device at `address` ("0000:3b:00.0", in either case), as far as it may use them. Memory that they
// touch first is then next to it, too. Changes nothing if /sys below `root` does not list these
// processors, or none of them may be used.
void bind_to_nearest_processors(std::string address, const std::filesystem::path& root = "/");

}  // namespace strata::device::cuda
