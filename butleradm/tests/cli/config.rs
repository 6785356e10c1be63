//! `butleradm config`: layers, origins, edits, and what is said about mistakes.

use std::fs;

use anyhow::Result;
use butler_tests::{Env, Invocation};

fn config(env: &Env, args: &[&str]) -> Invocation {
    env.command(env!("CARGO_BIN_EXE_butleradm")).arg("config").args(args)
}

/// What it prints when it goes well.
fn printed(env: &Env, args: &[&str]) -> Result<String> {
    Ok(config(env, args).run()?.success()?.stdout)
}

/// An environment whose user has this `config.toml`.
fn with_file(text: &str) -> Result<Env> {
    let env = Env::new()?;
    fs::create_dir_all(env.butler_home())?;
    fs::write(env.butler_home().join("config.toml"), text)?;
    Ok(env)
}

#[test]
fn list_shows_where_each_value_comes_from() -> Result<()> {
    let env = with_file("# mine\nnamespace = \"team-a\"\n\n[tools]\ndownload = false\n")?;
    let list = config(&env, &["list", "--origin", "--color", "never"]).env("BUTLER_REQUEST_TIMEOUT", "5s");
    insta::assert_snapshot!(list.run()?, @r"
    exit 0
    [stdout]
    KEY              VALUE   ORIGIN
    color            never   flag --color
    namespace        team-a  [TEMP]/butler/config.toml:2:13
    output           table   default
    request-timeout  5s      environment BUTLER_REQUEST_TIMEOUT
    tools.dir        -       default
    tools.download   false   [TEMP]/butler/config.toml:5:12
    tui.keys         -       default
    tui.mouse        false   default
    tui.theme        auto    default
    ");
    let json = config(&env, &["list", "-o", "json"]).run()?.success()?.json()?;
    let line =
        |key: &str| json.as_array()?.iter().find(|entry| entry["key"] == key)?["origin"]["line"].as_u64();
    assert_eq!((line("namespace"), line("tools.download"), line("output")), (Some(2), Some(5), None));
    Ok(())
}

#[test]
fn set_get_and_unset_work_on_a_new_machine_and_keep_comments() -> Result<()> {
    let env = Env::new()?;
    insta::assert_snapshot!(config(&env, &["path"]).run()?, @r"
    exit 0
    [stdout]
    [TEMP]/butler/config.toml
    ");
    insta::assert_snapshot!(config(&env, &["set", "output", "json"]).run()?, @r"
    exit 0
    [stderr]
    set `output` to `json` in [TEMP]/butler/config.toml
    ");
    let file = env.butler_home().join("config.toml");
    fs::write(&file, fs::read_to_string(&file)? + "# the end\n")?;
    printed(&env, &["set", "tools.dir", "/opt/parts"])?;
    assert_eq!(printed(&env, &["get", "tools.dir"])?, "/opt/parts\n");
    insta::assert_snapshot!(config(&env, &["unset", "output"]).run()?, @r"
    exit 0
    [stderr]
    removed `output` from [TEMP]/butler/config.toml
    ");
    insta::assert_snapshot!(config(&env, &["unset", "output"]).run()?, @r"
    exit 0
    [stderr]
    `output` is not set in [TEMP]/butler/config.toml
    ");
    assert_eq!(fs::read_to_string(&file)?, "\n[tools]\ndir = \"/opt/parts\"\n# the end\n");
    Ok(())
}

#[test]
fn commands_follow_the_settings() -> Result<()> {
    let env = with_file("output = \"json\"\n")?;
    let explain = |env: &Env, args: &[&str]| {
        env.command(env!("CARGO_BIN_EXE_butleradm")).args(["explain", "BTL-1202"]).args(args)
    };
    let json = explain(&env, &[]).run()?.success()?;
    assert!(json.stdout.starts_with(['{', '[']) && json.stdout.contains("BTL-1202"), "{json}");
    assert!(explain(&env, &["-o", "table"]).run()?.success()?.stdout.starts_with("BTL-1202"));
    let yaml = explain(&env, &[]).env("BUTLER_OUTPUT", "yaml").run()?.success()?;
    assert!(yaml.stdout.contains("code: BTL-1202"), "{yaml}");
    // Failures too are told in the format of the settings.
    let error = config(&env, &["get", "nothing"]).run()?.failed_with(2)?;
    assert!(error.stderr.starts_with('{'), "{error}");
    Ok(())
}

#[test]
fn wrong_names_and_values_are_refused_before_anything_is_written() -> Result<()> {
    let env = Env::new()?;
    insta::assert_snapshot!(config(&env, &["set", "namespce", "a"]).run()?, @r"
    exit 2
    [stderr]
    error[BTL-1202]: `namespce` is not a setting, did you mean `namespace`?

    hint: butleradm config list
    ");
    insta::assert_snapshot!(config(&env, &["set", "request-timeout", "soon"]).run()?, @r"
    exit 2
    [stderr]
    error[BTL-1203]: `request-timeout` cannot be `soon`: expected a duration such as 30s, 2m or 1h30m

    hint: butleradm config --help
    ");
    assert!(!env.butler_home().exists());
    Ok(())
}

#[test]
fn every_problem_of_a_file_and_the_environment_is_told_at_once() -> Result<()> {
    let env = with_file("colour = \"never\"\n[tools]\ndownload = \"no\"\n")?;
    insta::assert_snapshot!(config(&env, &["list"]).env("BUTLER_OUTPUT", "xml").run()?, @r#"
    exit 2
    [stderr]
    error[BTL-1202]: the settings have 3 problems
      1: [TEMP]/butler/config.toml:1:1: `colour` is not a setting, did you mean `color`?
      2: [TEMP]/butler/config.toml:3:12: `tools.download` cannot be `"no"`: expected true or false, without quotes
      3: environment BUTLER_OUTPUT: `output` cannot be `xml`: expected table, wide, json, yaml or name

    hint: correct line 1 of [TEMP]/butler/config.toml
    hint: correct line 3 of [TEMP]/butler/config.toml
    hint: unset BUTLER_OUTPUT
    "#);
    // What needs no setting still works, and so does the repair.
    let explain =
        env.command(env!("CARGO_BIN_EXE_butleradm")).args(["explain", "BTL-1202"]).run()?.success()?;
    assert!(explain.stderr.starts_with("warning: settings are not used"), "{explain}");
    printed(&env, &["unset", "colour"])?;
    printed(&env, &["set", "tools.download", "true"])?;
    printed(&env, &["list"])?;
    Ok(())
}

#[test]
fn a_file_that_is_not_toml_is_named_with_line_and_column() -> Result<()> {
    let env = with_file("namespace = \"a\"\noutput = = 1\n")?;
    insta::assert_snapshot!(config(&env, &["get", "namespace"]).run()?, @r"
    exit 2
    [stderr]
    error[BTL-1204]: the settings have 2 problems
      1: [TEMP]/butler/config.toml:2:10: extra `=`, expected nothing
      2: [TEMP]/butler/config.toml:2:12: unexpected key or value, expected newline, `#`

    hint: correct line 2 of [TEMP]/butler/config.toml
    ");
    let set = config(&env, &["set", "output", "wide"]).run()?.failed_with(2)?;
    assert!(set.stderr.contains("config.toml:2:10"), "{set}");
    Ok(())
}

#[test]
fn a_home_that_cannot_be_written_or_found_is_named() -> Result<()> {
    let env = Env::new()?;
    let blocked = env.work_dir().join("file");
    fs::write(&blocked, "")?;
    let set = config(&env, &["set", "output", "wide"]).env("BUTLER_HOME", blocked.join("home"));
    insta::assert_snapshot!(set.run()?, @r"
    exit 1
    [stderr]
    error[BTL-1303]: cannot write `[TEMP]/work/file/home`
      1: Not a directory (os error 20)

    hint: df -h DIRECTORY
    hint: ls -ld DIRECTORY
    ");
    let homeless = |args: &[&str]| config(&env, args).env_remove("BUTLER_HOME").env_remove("HOME");
    assert!(homeless(&["list"]).run()?.success()?.stdout.contains("butler-tenants"));
    insta::assert_snapshot!(homeless(&["path"]).run()?, @r"
    exit 2
    [stderr]
    error[BTL-1301]: cannot tell where the Butler home is: neither BUTLER_HOME nor HOME is set

    hint: export BUTLER_HOME=/path/to/a/private/directory
    ");
    Ok(())
}

#[test]
fn editors_at_the_same_time_lose_nothing() -> Result<()> {
    let env = Env::new()?;
    let values = [("color", "never"), ("namespace", "a"), ("output", "yaml"), ("request-timeout", "5s")];
    let started: Vec<_> = values
        .iter()
        .map(|(key, value)| config(&env, &["set", key, value]).spawn())
        .collect::<Result<_>>()?;
    for running in started {
        let _ = running.wait(std::time::Duration::from_secs(60))?.success()?;
    }
    for (key, value) in values {
        assert_eq!(printed(&env, &["get", key])?.trim_end(), value);
    }
    Ok(())
}
