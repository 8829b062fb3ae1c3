# A stand-in for nixpkgs, for machines without a network: the few functions that ../../flake.nix uses,
# made of the host's tools and therefore NOT hermetic. It shows that the flake evaluates and that its
# recipe runs, nothing more. `cargo xtask flake` sets the variables that are read here.
{
  description = "nixpkgs stand-in made of the host's tools";

  outputs = { self }:
    let
      host = builtins.getEnv;
      system = "x86_64-linux";
      lib = {
        genAttrs = names: f: builtins.listToAttrs (map (n: { name = n; value = f n; }) names);
        getLib = p: p;
        licenses = { mit = "mit"; asl20 = "asl20"; };
      };
      mkDerivation = a: derivation {
        inherit system;
        name = a.name or "${a.pname}-${a.version}";
        src = a.src or "";
        script = a.script;
        builder = "/bin/bash";
        args = [ "-e" (builtins.toFile "builder.sh" ''
          export PATH=${host "SIM_PIPE_STUB_PATH"} HOME=$NIX_BUILD_TOP TERM=dumb
          export CARGO_HOME=${host "SIM_PIPE_STUB_CARGO_HOME"}
          export RUSTUP_HOME=${host "SIM_PIPE_STUB_RUSTUP_HOME"}
          export CARGO_TARGET_DIR=${host "SIM_PIPE_STUB_TARGET"}
          if [ -n "$src" ]; then cp -r "$src" source; chmod -R u+w source; cd source; fi
          eval "$script"
        '') ];
      };
      words = builtins.concatStringsSep " ";
      pkgs = {
        inherit system lib;
        rustPlatform.buildRustPackage = a: mkDerivation (a // {
          script = ''
            cargo build --release --locked ${words (a.cargoBuildFlags or [ ])}
            ${if a.doCheck then "cargo test --release --locked ${words (a.cargoTestFlags or [ ])}" else ""}
            mkdir -p $out/bin
            cp $CARGO_TARGET_DIR/release/${a.pname} $out/bin/
          '';
        });
        mkShell = a: mkDerivation { name = "shell"; script = "mkdir $out"; };
        runCommand = name: env: script: mkDerivation { inherit name script; };
        python3Packages.pip = "/usr";
      } // lib.genAttrs [
        "bubblewrap" "python3" "duckdb" "cargo" "rustc" "clippy" "rustfmt" "gcc" "nodejs" "ninja" "b3sum"
      ] (name: "/usr");
    in
    {
      inherit lib;
      legacyPackages.${system} = pkgs;
    };
}
