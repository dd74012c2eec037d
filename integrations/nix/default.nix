# The libraries and the command, from the checkout or unpacked tarball that this file is in:
#   nix-build integrations/nix                  result/bin/loam, result/lib/libloam.so
#   pkgs.callPackage loam/integrations/nix { }  in a shell, an overlay or a system's packages
{ pkgs ? import <nixpkgs> { }
, lib ? pkgs.lib
, stdenv ? pkgs.stdenv
, cmake ? pkgs.cmake
, cargo ? pkgs.cargo
, rustc ? pkgs.rustc
, rustPlatform ? pkgs.rustPlatform
}:

stdenv.mkDerivation {
  pname = "loam";
  version = builtins.head (builtins.match ".*#define LOAM_VERSION \"([0-9.]+)\".*"
    (builtins.readFile ../../include/loam/loam.h));

  # What was built there stays there.
  src = lib.cleanSourceWith {
    src = lib.cleanSource ../..;
    filter = path: type: !(type == "directory"
      && builtins.elem (baseNameOf path) [ "build" "dist" "target" ]);
  };
  cargoDeps = rustPlatform.importCargoLock { lockFile = ../../Cargo.lock; };
  nativeBuildInputs = [ cmake cargo rustc rustPlatform.cargoSetupHook ];

  # malloc runs before a program has what these need.
  hardeningDisable = [ "fortify" "stackprotector" ];

  configurePhase = ''
    runHook preConfigure
    patchShebangs scripts
    cmake -S . -B build/cmake -DCMAKE_BUILD_TYPE=RelWithDebInfo \
      -DCMAKE_INSTALL_PREFIX=$out -DCMAKE_INSTALL_LIBDIR=lib
    runHook postConfigure
  '';
  buildPhase = ''
    runHook preBuild
    cmake --build build/cmake --parallel $NIX_BUILD_CORES
    scripts/objects.sh build/lib/graft build/objects
    cargo build --release --locked --offline
    install -D target/release/loam build/bin/loam
    scripts/share.sh build build/bin/loam
    runHook postBuild
  '';
  installPhase = ''
    runHook preInstall
    cmake --install build/cmake
    runHook postInstall
  '';
  doInstallCheck = true;
  installCheckPhase = ''
    runHook preInstallCheck
    $out/bin/loam verify --preloaded -- $(type -P true)
    runHook postInstallCheck
  '';

  meta = {
    description = "A general-purpose memory allocator, and the command that puts it in place";
    license = [ lib.licenses.mit lib.licenses.asl20 ];
    platforms = lib.platforms.linux;
    mainProgram = "loam";
  };
}
