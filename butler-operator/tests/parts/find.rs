use std::fs;

use butler_core::error::{Code, Diagnose};
use butler_operator::parts::{KIND, KUBECTL, PartError, Reason, Source};
use rstest::rstest;

use crate::bench::{Bench, asked, program, script};

#[tokio::test]
async fn places_are_searched_in_their_order() {
    let bench = Bench::new();
    let flag = bench.dir("flag");
    let bench = bench
        .with("BUTLER_TOOLS_DIR", flag.with_file_name("a"))
        .with("KUBEBUILDER_ASSETS", flag.with_file_name("b"));
    script(&bench.dir("home/tools/kind-0.33.0").join("kind"), &program("0.33.4"));
    let expected = [
        (Source::Cache, "0.33.4", None),
        (Source::Path, "0.33.3", Some("path")),
        (Source::KubebuilderAssets, "0.33.2", Some("b")),
        (Source::ToolsDir, "0.33.1", Some("a")),
        (Source::Flag, "0.33.0", Some("flag")),
    ];
    for (source, version, dir) in expected {
        if let Some(dir) = dir {
            script(&bench.dir(dir).join("kind"), &program(version));
        }
        let found = bench.parts().in_dir(Some(flag.clone())).find(&KIND).await.unwrap();
        assert_eq!((found.source, found.version.to_string().as_str()), (source, version));
    }
}

#[rstest]
#[case(program("0.32.1"), "0.32.1")]
#[case("#!/bin/sh\nexit 7\n".to_owned(), "0.33.x")]
#[tokio::test]
async fn a_wrong_program_in_an_explicit_place_is_an_error(#[case] text: String, #[case] named: &str) {
    let bench = Bench::new();
    let dir = bench.dir("mine");
    let bench = bench.with("BUTLER_TOOLS_DIR", &dir);
    script(&dir.join("kind"), &text);
    // A fitting one further on does not help: the person chose this directory.
    script(&bench.dir("path").join("kind"), &program("0.33.0"));
    let error = bench.parts().find(&KIND).await.unwrap_err();
    assert_eq!(error.code(), Code::PartVersion);
    let message = error.to_string();
    assert!(message.contains(named) && message.contains("0.33.x"), "{message}");
    assert!(message.contains(dir.join("kind").to_str().unwrap()), "{message}");
    // Installing does not go around it either.
    assert_eq!(bench.install(&[&KIND]).await.unwrap_err().code(), Code::PartVersion);
}

#[tokio::test]
async fn another_version_on_path_is_passed_over_with_the_reason() {
    let bench = Bench::new();
    script(&bench.dir("path").join("kubectl"), &program("1.32.4"));
    let search = bench.parts().search(&KUBECTL).await;
    assert!(search.found.is_none() && search.refused().is_none());
    assert!(matches!(&search.passed[0].reason, Reason::Version(version) if version.to_string() == "1.32.4"));
    let error = search.into_found().unwrap_err();
    assert!(matches!(error, PartError::NotFound { name: "kubectl", .. }));
    assert_eq!(error.hints(), ["butleradm tools install kubectl"]);
}

#[tokio::test]
async fn a_program_is_asked_again_only_when_its_file_changed() {
    let bench = Bench::new();
    let kind = bench.dir("path").join("kind");
    script(&kind, &program("0.33.0"));
    for _ in 0..3 {
        assert_eq!(bench.parts().find(&KIND).await.unwrap().version.to_string(), "0.33.0");
    }
    assert_eq!(asked(&kind), 1);
    script(&kind, &program("0.33.10"));
    assert_eq!(bench.parts().find(&KIND).await.unwrap().version.to_string(), "0.33.10");
    assert_eq!(asked(&kind), 2);
    // A damaged memory is forgotten, not an error.
    fs::write(bench.tools().join("versions.json"), "{").unwrap();
    assert_eq!(bench.parts().find(&KIND).await.unwrap().version.to_string(), "0.33.10");
}

#[tokio::test]
async fn a_program_that_hangs_does_not_hang_us() {
    let bench = Bench::new();
    script(&bench.dir("path").join("kind"), "#!/bin/sh\nexec /bin/sleep 60\n");
    let search = bench.parts().search(&KIND).await;
    assert_eq!(search.passed[0].reason.to_string(), "it did not say its version within 5 s");
}
