# Sourced by ./run and ./test: installs what is missing on a Debian machine and builds a preset.
# Packages come from Debian, as root or through sudo; what Python needs comes from PyPI, into a folder of the build.

say() { printf '\n== %s\n' "$*"; }

# need PACKAGE...: installs those that are not there yet; does nothing (and needs no network) else.
need() {
  local missing=()
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "These packages are missing and there is neither root nor sudo: ${missing[*]}"; return 1; }
    as_root=(sudo)
  fi
  say "Installing from Debian's packages: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# python_environment FOLDER: what the Python package is built and tested with, from PyPI. Where that is out of reach everything
# goes on; the package is then not built and its test says so.
python_environment() {
  [ -x "$1/bin/python" ] || /usr/bin/python3 -m venv "$1" || return 0
  "$1/bin/python" -c 'import nanobind' 2>/dev/null && return 0
  say "Installing from PyPI into $1: nanobind numpy pytest ml_dtypes"
  "$1/bin/python" -m pip install -q --disable-pip-version-check --timeout 20 --retries 1 nanobind numpy pytest ml_dtypes ||
    echo "PyPI is out of reach: the Python package is left out"
}

# fuzzing_environment FOLDER: what patterns are fuzzed with, from PyPI into the same folder; without it they are not.
fuzzing_environment() {
  python_environment "$1"
  "$1/bin/python" -c 'import atheris' 2>/dev/null && return 0
  say "Installing from PyPI into $1: atheris"
  "$1/bin/python" -m pip install -q --disable-pip-version-check --timeout 20 --retries 1 atheris ||
    echo "PyPI is out of reach: patterns are not fuzzed"
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
