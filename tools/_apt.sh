# tools/_apt.sh: an apt with a state of its own. Sourced, never run. The system stays as it is.
#
# Gives: apt_reason, apt_update.

apt_keyring=/usr/share/keyrings/debian-archive-keyring.gpg
# The machine's own mirror.
apt_mirror() {
  cat /etc/apt/sources.list.d/*.sources 2>/dev/null | sed -n 's/^URIs: *\([^ ]*\).*/\1/p' | head -n 1 | grep . \
    || sed -n 's/^deb \(\[[^]]*\] \)\?\([^ ]*\).*/\2/p' /etc/apt/sources.list 2>/dev/null | head -n 1 | grep .
}

# Why nothing can be downloaded here; empty if it can.
apt_reason() {
  if [ "$(uname -m)" != x86_64 ] || ! command -v apt-get >/dev/null || [ ! -e "$apt_keyring" ]; then
    echo "it is Debian's, for x86_64, and this machine has no apt with Debian's keyring"
  elif [ -z "$(apt_mirror)" ]; then
    echo "no mirror is named in /etc/apt"
  fi
}

# apt_update <folder> <deb or deb-src> <suite>: the lists of one suite. They are for an apt with
# APT_CONFIG=<folder>/apt.conf.
apt_update() {
  local state="$1" kind="$2" suite="$3"
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$state/etc"
  : >"$state/status"
  printf 'Types: %s\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: %s\n' "$kind" "$(apt_mirror)" "$suite" "$apt_keyring" \
    >"$state/etc/$suite.sources"
  cat >"$state/apt.conf" <<EOF
APT::Architecture "$(dpkg --print-architecture)";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$state/etc";
Dir::State "$state";
Dir::State::Lists "$state/lists";
Dir::State::status "$state/status";
Dir::Cache "$state/cache";
EOF
  APT_CONFIG="$state/apt.conf" apt-get -qq update
}
