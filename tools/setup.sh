# Sourced by ./run and ./test: looks for what is needed, installs what is missing where that is Debian, and builds a preset.
# Packages come from Debian, as root or through sudo; elsewhere it is said what to install. What Python needs comes from
# PyPI, into a folder of the build.

say() { printf '\n== %s\n' "$*"; }

system_python() { if [ -x /usr/bin/python3 ]; then echo /usr/bin/python3; else command -v python3; fi; }

# includes HEADER: can the compiler see it?
includes() { echo "#include <$1>" | g++ -E -x c++ - >/dev/null 2>&1; }

# has PACKAGE: is there what this package of Debian's is needed for, wherever it came from?
has() {
  case $1 in
    cmake) command -v cmake >/dev/null &&
      [ "$(printf '%s\n' 3.25 "$(cmake --version | sed -n 's/^cmake version //p')" | sort -V | head -n 1)" = 3.25 ] ;;
    ninja-build) command -v ninja >/dev/null ;;
    g++-aarch64-linux-gnu) command -v aarch64-linux-gnu-g++ >/dev/null ;;
    qemu-user) command -v qemu-aarch64 >/dev/null ;;
    openmpi-bin) command -v mpirun >/dev/null ;;
    libopenmpi-dev) command -v mpicc >/dev/null ;;
    libgtest-dev) includes gtest/gtest.h ;;
    liburing-dev) includes liburing.h ;;
    libopenblas0-openmp) compgen -G '/usr/lib*/*/openblas-openmp/libopenblas.so.0' >/dev/null || compgen -G '/usr/lib*/libopenblas*.so*' >/dev/null ;;
    libclang-rt-14-dev) dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed' ;;
    python3) system_python >/dev/null ;;
    python3-dev) includes "$("$(system_python)" -c 'import sysconfig; print(sysconfig.get_paths()["include"])' 2>/dev/null)/Python.h" ;;
    python3-venv) "$(system_python)" -c 'import ensurepip, venv' 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# elsewhere PACKAGE: what other systems call it, where we know.
elsewhere() {
  local names
  case $1 in
    g++) names="dnf: gcc-c++, pacman: gcc, zypper: gcc-c++" ;;
    cmake) names="3.25 or newer; dnf, pacman, zypper: cmake" ;;
    ninja-build) names="dnf: ninja-build, pacman: ninja, zypper: ninja" ;;
    libgtest-dev) names="dnf: gtest-devel, pacman: gtest, zypper: gtest" ;;
    pkg-config) names="dnf: pkgconf-pkg-config, pacman: pkgconf, zypper: pkgconf-pkg-config" ;;
    python3-dev) names="dnf: python3-devel, pacman: python, zypper: python3-devel" ;;
    *) names="" ;;
  esac
  echo "  $1${names:+   ($names)}"
}

# need PACKAGE...: installs those whose purpose is not served yet; does nothing (and needs no network) else. Where there is
# no apt-get it says what is missing, and fails.
need() { look_for must "$@"; }
# want PACKAGE...: the same, but where they cannot be installed we do without.
want() { look_for may "$@"; }

look_for() {
  local how=$1 missing=()
  shift
  for package in "$@"; do has "$package" || missing+=("$package"); done
  [ ${#missing[@]} -eq 0 ] && return 0
  if ! command -v apt-get >/dev/null; then
    if [ "$how" = may ]; then
      echo "Not here, so what needs it is left out: ${missing[*]} (names of Debian's packages)"
      return 0
    fi
    echo "These are missing; please install them (names of Debian's packages):"
    for package in "${missing[@]}"; do elsewhere "$package"; done
    return 1
  fi
  install_packages "${missing[@]}" && return 0
  echo "Somebody who may do so would type: apt-get update && apt-get install --no-install-recommends ${missing[*]}"
  [ "$how" = may ] && echo "Going on without them; what needs them is left out"
}

# install_packages PACKAGE...: from Debian, as root or through sudo; what apt-get says is shown if it fails.
install_packages() {
  local as_root=() log=build/packages.log
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "These packages are missing and there is neither root nor sudo: $*"; return 1; }
    as_root=(sudo)
  fi
  say "Installing from Debian's packages: $*"
  mkdir -p build
  "${as_root[@]}" apt-get update -qq >$log 2>&1 &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >>$log 2>&1 ||
    { tail -n 20 $log; return 1; }
}

# python_environment FOLDER: what the Python package is built with, from PyPI. Where that is out of reach everything goes on;
# the package is then not built and its test says so.
python_environment() {
  [ -x "$1/bin/python" ] || "$(system_python)" -m venv "$1" || return 0
  from_pypi "$1" nanobind "the Python package is left out" nanobind numpy pytest ml_dtypes
}

# test_environment FOLDER: what else its tests use: mpi4py where MPI is, and what the documents' site is built with.
test_environment() {
  [ -x "$1/bin/python" ] || return 0
  from_pypi "$1" material "the documents' site is left out" mkdocs-material
  command -v mpirun >/dev/null || return 0
  from_pypi "$1" mpi4py "or has no mpi4py for this machine: its tests are skipped" mpi4py
}

# from_pypi FOLDER MODULE ELSE PACKAGES...: installs them unless MODULE is there; ELSE is what it means where that fails.
from_pypi() {
  local python=$1/bin/python module=$2 otherwise=$3
  shift 3
  "$python" -c "import $module" 2>/dev/null && return 0
  say "Installing from PyPI into ${python%/bin/python}: $*"
  PIP_ONLY_BINARY=mpi4py "$python" -m pip install -q --disable-pip-version-check --timeout 20 --retries 1 "$@" || echo "PyPI is out of reach, $otherwise"
}

# progress PRESET: reads ninja's lines and says now and then how far it is; nothing where there is nothing to do.
progress() {
  local line said=''
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    [ -n "$said" ] || { said=$SECONDS; say "Building (preset $1, $(nproc) cores; the first time takes minutes)"; }
    [ $((SECONDS - said)) -lt 20 ] || { said=$SECONDS; echo "   ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps"; }
  done
}

# build PRESET TARGET [CMAKE-OPTION...]: configures once, then builds; what failed is shown.
build() {
  local preset=$1 target=$2 log=build/$1.log
  shift 2
  mkdir -p build
  cmake --preset "$preset" "$@" >"$log" 2>&1 || { cat "$log"; return 1; }
  cmake --build --preset "$preset" --target "$target" -- -j"$(nproc)" 2>&1 | tee "$log" | progress "$preset" ||
    { grep -m 1 -A 60 '^FAILED' "$log" || tail -n 60 "$log"; return 1; }
}
