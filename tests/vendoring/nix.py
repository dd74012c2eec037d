#!/usr/bin/env python3
"""integrations/nix without nixpkgs: Nix evaluates it with stand-ins for what it takes from there, and
bash runs its phases as stdenv does. Without Nix the status is 77."""
import json
import os
import re
import shutil
import sys
import unittest

from support import ROOT, VendoringTest

SKIPPED = 77
STAND_INS = """
let
  lib = {
    cleanSource = path: { };
    # Which of these are a part of the sources.
    cleanSourceWith = { src, filter }: builtins.filter (path: filter path "directory")
      [ "/loam/src" "/loam/build" "/loam/target" "/loam/dist" "/loam/scripts" ];
    licenses = { mit = "MIT"; asl20 = "Apache-2.0"; };
    platforms.linux = [ "linux" ];
  };
in import (/. + "ROOT/integrations/nix") {
  inherit lib;
  pkgs = { };
  cmake = "cmake";
  cargo = "cargo";
  rustc = "rustc";
  stdenv.mkDerivation = attributes: attributes;
  rustPlatform = {
    cargoSetupHook = "hook";
    importCargoLock = { lockFile }: builtins.readFile lockFile;
  };
}
""".replace("ROOT", ROOT)
# What stdenv has; and in the places of what takes long what was made already.
STDENV = """set -eu
runHook() { :; }
patchShebangs() { test -d "$1"; }
cmake() {
  case $1 in
    --build) mkdir -p build/lib && cp "$MADE"/build/lib/*.* build/lib ;;
    *) command cmake "$@" ;;
  esac
}
cargo() { install -D "$MADE/build/bin/loam" target/release/loam; }
"""
OBJECTS = """#!/bin/sh
mkdir -p "$1" && : > "$1/loam-x86_64.o"
"""
PHASES = ("configurePhase", "buildPhase", "installPhase", "installCheckPhase")


class Nix(VendoringTest):
    def setUp(self):
        super().setUp()
        text = self.succeed("nix-instantiate", "--store", "dummy://", "--eval", "--strict", "--json",
                            "--expr", STAND_INS)
        self.package = json.loads(text)

    def test_what_it_is_made_of(self):
        with open(os.path.join(ROOT, "include", "loam", "loam.h"), encoding="utf-8") as file:
            version = re.search(r'#define LOAM_VERSION "(.*)"', file.read())[1]
        self.assertEqual(self.package["version"], version)
        self.assertEqual(self.package["src"], ["/loam/src", "/loam/scripts"])
        self.assertIn("[[package]]", self.package["cargoDeps"])

    def test_its_phases_give_a_package_that_proves_itself(self):
        os.mkdir(self.path("loam"))
        for name in ("CMakeLists.txt", "src", "include", "cmake", "scripts", "docs", "bindings",
                     "LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md", "README.md",
                     "CONTRIBUTING.md", "SECURITY.md"):
            source = os.path.join(ROOT, name)
            copy = shutil.copytree if os.path.isdir(source) else shutil.copy
            copy(source, self.path("loam", name))
        self.write("loam/scripts/objects.sh", OBJECTS)
        script = self.write("phases.sh", STDENV + "".join(map(self.package.get, PHASES)))
        out = self.path("out")
        said = self.succeed("bash", script, folder=self.path("loam"), environment={
            "out": out, "NIX_BUILD_CORES": "2", "MADE": ROOT})
        self.assertIn(f"loam: {out}/lib/libloam.so", said)
        for name in ("bin/loam", "lib/loam.o", "lib/loam/graft/loam-x86_64.o",
                     "share/man/man1/loam.1", "lib/cmake/loam/loam-config.cmake",
                     "include/loam/loam.h"):
            self.assertTrue(os.path.exists(os.path.join(out, name)), name)


if __name__ == "__main__":
    if shutil.which("nix-instantiate") is None:
        print("not tested: there is no nix-instantiate")
        sys.exit(SKIPPED)
    unittest.main()
