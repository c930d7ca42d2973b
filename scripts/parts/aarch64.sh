# Sourced. Compiles for aarch64 and runs its programs on x86-64, on Debian.
# Needs root or sudo, for packages and for the registration by which Linux starts aarch64 programs in qemu.

aarch64_sysroot=$root/build/aarch64-sysroot
aarch64_toolchain=$root/cmake/Aarch64.cmake

# Installs the cross compiler and qemu, unpacks the libraries, and has Linux start aarch64 programs.
prepare_aarch64() {
  install_packages g++-aarch64-linux-gnu qemu-user-static
  [[ -d $aarch64_sysroot ]] || make_aarch64_sysroot
  register_qemu
  export QEMU_LD_PREFIX=$aarch64_sysroot
}

# Unpacks Debian's packages for arm64, and all that they depend on, with a package list of its own. The system's own libraries stay
# as they are.
make_aarch64_sysroot() {
  local apt=$root/build/aarch64-apt package packages=()
  for package in "${build_packages[@]}" "${training_packages[@]}" libgtest-dev libgmock-dev libbenchmark-dev; do
    case $package in lib*-dev | zlib1g-dev | nlohmann-json3-dev | openmpi-bin) packages+=("$package") ;; esac
  done
  say "libraries for aarch64: Debian's ${packages[*]}"
  mkdir -p "$apt"/{lists/partial,archives/partial}
  : >"$apt/status"
  local options=(-o "Dir::State=$apt" -o "Dir::State::status=$apt/status" -o "Dir::State::lists=$apt/lists"
    -o "Dir::Cache=$apt" -o "Dir::Cache::archives=$apt/archives" -o APT::Architecture=arm64 -o APT::Architectures=arm64
    -o APT::Sandbox::User= -o APT::Install-Recommends=false -o Debug::NoLocking=true)
  apt-get "${options[@]}" update -qq
  apt-get "${options[@]}" install -qq --download-only --yes "${packages[@]}" >/dev/null
  rm -rf "$aarch64_sysroot.unfinished"
  mkdir -p "$aarch64_sysroot.unfinished/usr/lib"
  # As on Debian itself, /lib is /usr/lib.
  ln -s usr/lib "$aarch64_sysroot.unfinished/lib"
  for package in "$apt"/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar --extract --keep-directory-symlink --directory "$aarch64_sysroot.unfinished"
  done
  rm -rf "$apt"
  mv "$aarch64_sysroot.unfinished" "$aarch64_sysroot"
}

register_qemu() {
  local folder=/proc/sys/fs/binfmt_misc as_root=()
  [[ $(uname -m) != aarch64 && ! -e $folder/qemu-aarch64 ]] || return 0
  [[ $(id -u) -eq 0 ]] || as_root=(sudo)
  [[ -e $folder/register ]] || "${as_root[@]}" mount -t binfmt_misc none "$folder" || true
  # The fields: name, magic, offset, the beginning of an ELF file for aarch64, its mask, interpreter, flags.
  printf '%s' ':qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00' \
    ':\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64-static:F' |
    "${as_root[@]}" tee "$folder/register" >/dev/null ||
    give_up "Linux cannot be told to start aarch64 programs in qemu: $folder/register cannot be written"
}
