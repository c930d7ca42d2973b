#include "scoring/summary/private_id.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "compliance/sources/sha256.h"
#include "scoring/summary/description_text.h"

namespace strata::scoring {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// humanhash's list, which is in the public domain. A word's index is its byte.
constexpr std::string_view kWords =
    "ack alabama alanine alaska alpha angel apart april arizona arkansas artist asparagus "
    "aspen august autumn avocado bacon bakerloo batman beer berlin beryllium black blossom "
    "blue bluebird bravo bulldog burger butter california carbon cardinal carolina carpet "
    "cat ceiling charlie chicken coffee cola cold colorado comet connecticut crazy cup "
    "dakota december delaware delta diet don double early earth east echo edward eight "
    "eighteen eleven emma enemy equal failed fanta fifteen fillet finch fish five fix floor "
    "florida football four fourteen foxtrot freddie friend fruit gee georgia glucose golf "
    "green grey hamper happy harry hawaii helium high hot hotel hydrogen idaho illinois "
    "india indigo ink iowa island item jersey jig johnny juliet july jupiter kansas kentucky "
    "kilo king kitten lactose lake lamp lemon leopard lima lion lithium london louisiana low "
    "magazine magnesium maine mango march mars maryland massachusetts may mexico michigan "
    "mike minnesota mirror mississippi missouri mobile mockingbird monkey montana moon "
    "mountain muppet music nebraska neptune network nevada nine nineteen nitrogen north "
    "november nuts october ohio oklahoma one orange oranges oregon oscar oven oxygen papa "
    "paris pasta pennsylvania pip pizza pluto potato princess purple quebec queen quiet red "
    "river robert robin romeo rugby sad salami saturn september seven seventeen shade sierra "
    "single sink six sixteen skylark snake social sodium solar south spaghetti speaker "
    "spring stairway steak stream summer sweet table tango ten tennessee tennis texas "
    "thirteen three timing triple twelve twenty two uncle undress uniform uranus utah vegan "
    "venus vermont victor video violet virginia washington west whiskey white william winner "
    "winter wisconsin wolfram wyoming xray yankee yellow zebra zulu";

std::string_view word_at(size_t place) {
  size_t begin = 0;
  for (; place > 0; --place) begin = kWords.find(' ', begin) + 1;
  return kWords.substr(begin, kWords.find(' ', begin) - begin);
}

}  // namespace

std::string words_of(std::string_view text) {
  constexpr size_t kBytesAWord = 8;
  const std::string digits = compliance::sha256(text);
  std::array<unsigned, 4> bytes{};
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes[i / 2 / kBytesAWord] ^=
        static_cast<unsigned>(std::stoul(digits.substr(i, 2), nullptr, 16));
  return fmt::format("{}-{}-{}-{}", word_at(bytes[0]), word_at(bytes[1]), word_at(bytes[2]),
                     word_at(bytes[3]));
}

std::string read_private_id(const fs::path& system_folder) {
  constexpr uint64_t kMostBytes = 1 << 20;
  const fs::path path = system_folder / "privateid.json";
  if (is_missing(path)) return "";
  const json fields = json::parse(read_file(path, kMostBytes), nullptr, false);
  const auto id = fields.is_object() ? fields.find("private_id") : fields.end();
  if (!fields.is_object() || id == fields.end() || !id->is_string())
    fail("{}: has no \"private_id\"", path.string());
  return id->get<std::string>();
}

std::string PrivateIds::id_of(const json& description, const std::string& system) {
  std::string text;
  for (const char* field : {"division", "submitter", "system_name", "number_of_nodes",
                            "host_processor_model_name", "host_processors_per_node",
                            "accelerator_model_name", "accelerators_per_node", "framework"}) {
    const auto found = description.find(field);
    if (found == description.end()) fail("a private id needs the field \"{}\"", field);
    text += python_text(*found);
  }
  if (known_.contains(text)) text += system;
  known_.insert(text);
  return words_of(text);
}

void write_private_id(const fs::path& system_folder, const std::string& id) {
  const fs::path path = system_folder / "privateid.json";
  if (!write_new_file(path, fmt::format("{{\n    \"private_id\": \"{}\"\n}}", id)))
    fail("{}: exists already", path.string());
}

}  // namespace strata::scoring
