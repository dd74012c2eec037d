#!/bin/sh
# wine32.sh FOLDER: Debian's wine for i386, fetched and unpacked in FOLDER. The system stays as it
# is: it need not be told of another architecture. Status 77 if the packages cannot be had.
set -eu
folder=$1
tools=$folder/usr/lib/wine
[ ! -e "$folder/complete" ] || exit 0
rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial"
: > "$folder/apt/status"
cd "$folder/apt"
apt() {
  apt-get -qq -o Dir::State="$PWD" -o Dir::State::status="$PWD/status" -o Dir::Cache="$PWD" \
    -o APT::Architecture=i386 -o APT::Architectures::=i386 -o APT::Sandbox::User=root "$@"
}
apt update || true # also where one of several lists fails
# The last one is zlib1.dll, which wine's own libraries need.
if ! apt download wine32 libwine libz-mingw-w64; then
  echo "not tested: the packages of wine for i386 cannot be fetched"
  exit 77
fi
for package in ./*.deb; do dpkg-deb --extract "$package" ..; done
cd ..
cp usr/i686-w64-mingw32/lib/zlib1.dll usr/lib/i386-linux-gnu/wine/i386-windows/
ln -sf wineserver32 "$tools/wineserver"
rm -r apt
touch complete
