# What peers.sh and prepare/*.sh share: packages of the distribution and crates. To be sourced.

# need COMMAND PACKAGE: the command is there, or is installed when we are root.
need() {
    command -v "$1" >/dev/null 2>&1 || need_package "$2"
}

# The lock: two scripts may want to install something at the same time.
apt_install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        -o DPkg::Lock::Timeout=300 "$1"
}

# need_package PACKAGE: it is installed, or is being installed when we are root.
need_package() {
    dpkg -s "$1" >/dev/null 2>&1 && return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        apt_install "$1" && return 0
        apt-get update -q -o DPkg::Lock::Timeout=300 && apt_install "$1" && return 0
    fi
    echo "needs the package $1: apt-get install $1"
    return 1
}

# crate FOLDER NAME VERSION: unpacks the crate and what it depends on below FOLDER; prints the
# crate's own folder.
crate() {
    need cargo cargo >&2 || return 1
    crate_folder=$1/$2
    wanted="$2 = \"=$3\""
    if ! grep -qsxF "$wanted" "$crate_folder/Cargo.toml" || [ ! -d "$crate_folder/vendor/$2" ]; then
        rm -rf "$crate_folder" && mkdir -p "$crate_folder/src" || return 1
        : >"$crate_folder/src/lib.rs"
        printf '%s\n' '[package]' 'name = "scratch"' 'version = "0.0.0"' 'edition = "2021"' \
            '[workspace]' '[dependencies]' "$wanted" >"$crate_folder/Cargo.toml"
        (cd "$crate_folder" && cargo vendor -q vendor >/dev/null) || return 1
    fi
    echo "$crate_folder/vendor/$2"
}
