# Sourced. Compiles for browsers with Emscripten, on Debian 13 or later.

browser_libraries=$root/build/browser-libraries
browser_toolchain=$root/cmake/WebAssembly.cmake

# Finds Emscripten, and makes the libraries.
prepare_browser() {
  local version
  install_packages cmake ninja-build dpkg-dev
  command -v em++ >/dev/null || install_packages emscripten
  version=$(em++ --version | sed -n '1s/.*) \([0-9.]*\).*/\1/p')
  # Version 3.1.50 is the first with a C++ library that has the ranges of C++20.
  [[ $(printf '%s\n' 3.1.50 "$version" | sort -V | head -n 1) == 3.1.50 ]] ||
    give_up "Emscripten $version is too old: take Debian 13, or Emscripten 3.1.50 or later from https://emscripten.org"
  # Debian's cache of compiled system libraries lacks those with WebAssembly's exceptions.
  export EM_FROZEN_CACHE=0 EM_CACHE=$root/build/emscripten-cache
  # In a list after || a failure would end nothing.
  if [[ ! -d $browser_libraries ]]; then make_browser_libraries; fi
}

# Unpacks Debian's packages of header-only libraries, and compiles the sources of the other two.
make_browser_libraries() {
  local work=$root/build/browser-libraries.work stage=$root/build/browser-libraries.unfinished name
  say "libraries for browsers: Debian's packages and sources"
  rm -rf "$work" "$stage"
  mkdir -p "$work/apt/lists/partial" "$stage"
  set +e
  (
    set -e
    cd "$work"
    name=$(apt-cache depends libboost-dev | sed -n 's/^ *Depends: \(libboost[0-9.]*-dev\)$/\1/p')
    apt-get download -qq nlohmann-json3-dev libcli11-dev libfast-float-dev "$name"
    for name in ./*.deb; do dpkg-deb --fsys-tarfile "$name" | tar --extract --strip-components 2 --directory "$stage" ./usr/include ./usr/share; done
    # The system may list no sources.
    apt_sources | sed 's/^deb /deb-src /' >apt/sources.list
    options=(-o "Dir::Etc::sourcelist=$work/apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/apt/lists"
      -o APT::Sandbox::User= -o Debug::NoLocking=true)
    apt-get "${options[@]}" update -qq
    apt-get "${options[@]}" source -qq fmtlib yaml-cpp >/dev/null
    compile() { # DIRECTORY CMAKE_OPTION...
      cmake -S "$1" -B "$1/build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_TOOLCHAIN_FILE=$browser_toolchain" \
        -DCMAKE_INSTALL_PREFIX="$stage" "${@:2}" && cmake --build "$1/build" && cmake --install "$1/build"
    }
    compile fmtlib-* -DFMT_TEST=OFF -DFMT_DOC=OFF
    compile yaml-cpp-* -DYAML_CPP_BUILD_TESTS=OFF -DYAML_CPP_BUILD_TOOLS=OFF -DYAML_BUILD_SHARED_LIBS=OFF
  ) >"$root/build/browser-libraries.log" 2>&1
  local status=$?
  set -e
  if [[ $status -ne 0 ]]; then
    tail -n 20 "$root/build/browser-libraries.log" >&2
    give_up "the libraries could not be made"
  fi
  mv "$stage" "$browser_libraries"
  rm -rf "$work"
}

# Prints the system's package sources in the one-line format.
apt_sources() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null | grep '^deb ' || true
  for file in /etc/apt/sources.list.d/*.sources; do
    [[ -f $file ]] || continue
    awk -F ': +' '/^URIs:/ {uri = $2} /^Suites:/ {suites = $2} /^Components:/ {components = $2}
      /^$/ {show()} END {show()}
      function show(  i, n, list) { n = split(suites, list, " "); for (i = 1; i <= n && uri != ""; ++i) print "deb", uri, list[i], components; uri = "" }' "$file"
  done
}
