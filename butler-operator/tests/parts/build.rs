use std::{fs, path::PathBuf, sync::Mutex, time::Duration};

use butler_core::{
    error::{Code, Diagnose},
    event::EventKind,
};
use butler_operator::parts::{
    ALL, BuildError, ETCD, KIND, KUBE_APISERVER, KUBE_SCHEDULER, KUBECTL, Origin, PartError,
};

use crate::bench::{Bench, script};

/// Stands in for Go: notes each build in a file beside it, and writes programs that say the version
/// of the table. It waits for `$0.hold` to go away, so that a test can look at an unfinished build.
const GO: &str = r#"#!/bin/sh
case "$1" in
env) echo go1.26.8; echo https://proxy.invalid,direct; exit ;;
esac
echo "$GOPROXY $GOFLAGS $CGO_ENABLED $GOTOOLCHAIN" >> "$0.builds"
while [ "$1" != -o ]; do shift; done
out=$2; shift 2
for package; do
  case "$package" in
  k8s.io/*) version=1.34.4 ;;
  */kind) version=0.33.0 ;;
  *) echo "package $package is not here" >&2; exit 3 ;;
  esac
  printf '#!/bin/sh\n' > "$out${package##*/}"
  while [ -e "$0.hold" ]; do /bin/sleep 0.05; done
  printf 'echo v%s\n' $version >> "$out${package##*/}"
done
"#;

fn go(bench: &Bench) -> PathBuf {
    bench.dir("path").join("go")
}

pub(crate) fn put_go(bench: &Bench) {
    script(&go(bench), GO);
}

pub(crate) fn builds(bench: &Bench) -> usize {
    fs::read_to_string(go(bench).with_extension("builds")).map_or(0, |text| text.lines().count())
}

#[tokio::test]
async fn programs_of_one_module_are_built_together_with_settings_of_our_own() {
    let bench = Bench::new().with("GOFLAGS", "-mod=vendor").with("CGO_ENABLED", "1");
    put_go(&bench);
    let installed = bench.install(&[&KUBECTL, &KUBE_APISERVER]).await.unwrap();
    assert_eq!(
        installed.iter().map(|i| (i.found.part.name, i.origin)).collect::<Vec<_>>(),
        [("kubectl", Origin::Built), ("kube-apiserver", Origin::Built)]
    );
    let noted = fs::read_to_string(go(&bench).with_extension("builds")).unwrap();
    assert_eq!(noted, "https://proxy.invalid -mod=readonly 0 local\n");
    // A part of the same module that comes later does not redo the others.
    bench.install(&[&KUBECTL, &KUBE_APISERVER, &KUBE_SCHEDULER]).await.unwrap();
    assert_eq!((builds(&bench), bench.executables().len()), (2, 3));
}

#[tokio::test]
async fn two_at_once_build_once() {
    let bench = Bench::new();
    put_go(&bench);
    let hold = go(&bench).with_extension("hold");
    fs::write(&hold, "").unwrap();
    // The one that has to wait says so, and then the build may end.
    let hear = |kind: &EventKind| {
        if matches!(kind, EventKind::Log { message, .. } if message.starts_with("waiting for another process"))
        {
            let _ = fs::remove_file(&hold);
        }
    };
    let wanted = [&KIND];
    let (one, two) =
        tokio::join!(bench.install_and_hear(&wanted, hear), bench.install_and_hear(&wanted, hear));
    let mut origins = [one.unwrap()[0].origin, two.unwrap()[0].origin];
    origins.sort_by_key(|origin| *origin == Origin::Present);
    assert_eq!(origins, [Origin::Built, Origin::Present]);
    assert_eq!(builds(&bench), 1);
}

#[tokio::test]
async fn an_abandoned_build_leaves_no_program_and_no_lock() {
    let bench = Bench::new();
    put_go(&bench);
    let hold = go(&bench).with_extension("hold");
    fs::write(&hold, "").unwrap();
    let (wanted, beats) = ([&KIND], Mutex::new(0));
    let hear = |kind: &EventKind| {
        if matches!(kind, EventKind::Progress(_)) {
            *beats.lock().unwrap() += 1;
        }
    };
    tokio::select! {
        _ = bench.install_and_hear(&wanted, hear) => panic!("the build cannot have ended"),
        () = async { while *beats.lock().unwrap() < 2 || builds(&bench) == 0 { tokio::time::sleep(Duration::from_millis(20)).await } } => {}
    }
    bench.assert_clean();
    fs::remove_file(&hold).unwrap();
    assert_eq!(bench.install(&[&KIND]).await.unwrap()[0].origin, Origin::Built);
}

#[tokio::test]
async fn a_failed_build_names_its_log_and_shows_the_end_of_it() {
    let bench = Bench::new();
    put_go(&bench);
    let error = bench.install(&[&ETCD]).await.unwrap_err();
    assert_eq!(error.code(), Code::BuildFailed);
    let PartError::Build { source: BuildError::Failed { log, tail, .. }, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(tail.to_string(), "package . is not here");
    assert!(fs::read_to_string(log).unwrap().contains("package . is not here"));
    assert_eq!(error.hints(), [format!("less {}", log.display())]);
    bench.assert_clean();
}

#[tokio::test]
async fn an_old_go_is_not_tried() {
    let bench = Bench::new();
    script(&go(&bench), "#!/bin/sh\necho go1.20.3\n");
    let error = bench.install(&[&KIND]).await.unwrap_err();
    assert!(matches!(&error, PartError::NoGo { source: BuildError::OldGo { .. }, .. }), "{error:?}");
    assert_eq!(error.code(), Code::PartNotFound);
}

#[tokio::test]
async fn a_cache_that_cannot_be_written_is_named() {
    let bench = Bench::new();
    put_go(&bench);
    // A file where the directory should be stops even the superuser.
    bench.dir("home");
    fs::write(bench.tools(), "").unwrap();
    let error = bench.install(&ALL).await.unwrap_err();
    assert_eq!(error.code(), Code::FileUnwritable);
    assert!(error.to_string().contains(bench.tools().to_str().unwrap()), "{error}");
    assert_eq!(builds(&bench), 0);
}
