//! The committed code is what the `.proto` files say.

use std::{collections::BTreeMap, fs, path::Path};

const FILES: [&str; 9] = [
    "google/rpc/status.proto",
    "common.proto",
    "machine.proto",
    "cluster.proto",
    "time.proto",
    "storage.proto",
    "security.proto",
    "state.proto",
    "etcd.proto",
];

/// Messages whose bytes are configurations, keys or kubeconfigs: their `Debug` is written by hand.
const SECRET: [&str; 5] = [
    ".common.Data",
    ".machine.ApplyConfigurationRequest",
    ".machine.GenerateClientConfiguration",
    ".definitions.MachineConfigSpec",
    ".etcdserverpb.SnapshotResponse",
];

fn generate(into: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let files: Vec<_> = FILES.iter().chain(&["definitions.proto"]).map(|f| root.join(f)).collect();
    let set = protox::compile(files, [&root]).expect("the .proto files compile");
    tonic_prost_build::configure()
        .out_dir(into)
        .emit_rerun_if_changed(false)
        .generate_default_stubs(true)
        .btree_map(".")
        .skip_debug(SECRET)
        .enum_attribute(".machine.ApplyConfigurationRequest.Mode", "#[derive(Debug)]")
        .compile_fds(set)
        .expect("code is generated");
}

fn read(folder: &Path) -> BTreeMap<String, String> {
    fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("text"))
        })
        .collect()
}

fn committed() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/talos/proto/generated")
}

#[test]
fn the_committed_code_is_what_the_protos_say() {
    let fresh = tempfile::tempdir().expect("a folder");
    generate(fresh.path());
    let (fresh, committed) = (read(fresh.path()), read(&committed()));
    assert_eq!(fresh.keys().collect::<Vec<_>>(), committed.keys().collect::<Vec<_>>());
    for (name, text) in &fresh {
        assert!(text == &committed[name], "`{name}` is old: run this file's ignored test `write_the_code`");
    }
}

#[test]
#[ignore = "writes into src: run it after a change of a .proto file"]
fn write_the_code() {
    generate(&committed());
    assert!(!read(&committed()).is_empty());
}
