# tools/_common.sh: what the tools share. Sourced, never run.
#
# Gives: $root (the repository, also the current folder), say, fail, primary (the version of the Python that runs
# Meson and the tools' own programs), venv_python.

# With --help a tool prints its head comment, and does nothing.
for argument in "$@"; do
  if [ "$argument" = --help ]; then
    sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"
    exit 0
  fi
  # What follows these is for a program.
  case "$(basename "$0") $argument" in "python --version="*) ;; "python "*) break ;; esac
done

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root"
mkdir -p build/logs build/results

# The compiler's cache serves every checkout of this project: no path of this one counts. Precompiled headers need the
# rest. What the environment says already, it says with a reason.
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$root}"
export CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR:-true}"
export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,include_file_ctime}"

say() { printf '== %s\n' "$*"; }
fail() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

# Lines "3.11 /path/of/the/interpreter": build/pythons.txt of tools/setup has those of this machine,
# build/newer_pythons.txt of tools/newer_pythons those that it downloaded.
pythons() { cat build/pythons.txt build/newer_pythons.txt 2>/dev/null || true; }
versions() { pythons | cut -d' ' -f1; }
# Never a downloaded one: sanitizers and other tools take the system's glibc.
primary() {
  local here
  here="$(cut -d' ' -f1 build/pythons.txt)"
  if grep -qx 3.11 <<<"$here"; then echo 3.11; else tail -n 1 <<<"$here"; fi
}
venv_python() { echo "$root/build/venv-$1/bin/python"; }

# quietly <name> <command...>: the output goes to build/logs/<name>.log, and is shown only on failure.
quietly() {
  local log="build/logs/$1.log"
  shift
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail -n 60 "$log" >&2
    fail "this failed: $* (the whole output is in $log)"
  fi
}
