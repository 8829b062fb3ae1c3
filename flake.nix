# Package, development shell and checks for Nix.
#
# What the project's own checks prove of this file: `cargo xtask flake` evaluates every output and
# builds the package with a stand-in for nixpkgs (xtask/nix-stub) that uses the host's compiler, on a
# machine without a network. What they cannot prove: that the real nixpkgs has all that is named
# here, in versions that work. There is no flake.lock for the same reason: `nix flake lock` writes
# one where there is a network. nixpkgs must have Rust 1.95 or later.
{
  description = "One TOML file to physics-simulation evidence that anyone can check";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      manifest = builtins.fromTOML (builtins.readFile ./Cargo.toml);
      systems = builtins.filter (system: nixpkgs.legacyPackages ? ${system})
        [ "x86_64-linux" "aarch64-linux" ];
      forAll = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});

      # `sim-pipe query` opens libduckdb at run time and looks in the folder named at build time.
      duckdb = pkgs: "${nixpkgs.lib.getLib pkgs.duckdb}/lib";

      package = pkgs: tested: pkgs.rustPlatform.buildRustPackage {
        pname = "sim-pipe";
        version = manifest.workspace.package.version;
        src = self;
        cargoLock.lockFile = ./Cargo.lock;
        cargoBuildFlags = [ "--package" "sim-pipe" ];
        cargoTestFlags = [ "--workspace" "--exclude" "xtask" ];
        doCheck = tested;
        nativeCheckInputs = [ pkgs.bubblewrap pkgs.python3 ];
        DUCKDB_LIB_DIR = duckdb pkgs;
        meta = {
          description = manifest.package.description;
          license = [ nixpkgs.lib.licenses.mit nixpkgs.lib.licenses.asl20 ];
          mainProgram = "sim-pipe";
          platforms = systems;
        };
      };
    in
    {
      packages = forAll (pkgs: { default = package pkgs false; });

      # The engines are built by sim-pipe itself, which needs a compiler, cargo and pip.
      devShells = forAll (pkgs: {
        default = pkgs.mkShell {
          packages = [
            pkgs.cargo
            pkgs.rustc
            pkgs.clippy
            pkgs.rustfmt
            pkgs.gcc
            pkgs.python3
            pkgs.python3Packages.pip
            pkgs.nodejs
            pkgs.bubblewrap
            pkgs.ninja
            pkgs.b3sum
          ];
          DUCKDB_LIB_DIR = duckdb pkgs;
        };
      });

      checks = forAll (pkgs: {
        package = package pkgs false;
        tests = package pkgs true;
        format = pkgs.runCommand "sim-pipe-format" { nativeBuildInputs = [ pkgs.cargo pkgs.rustfmt ]; } ''
          cd ${self} && cargo fmt --all --check && touch $out
        '';
      });
    };
}
