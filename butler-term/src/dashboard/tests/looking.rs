//! Every screen in every state, at three sizes.

use super::*;

#[test]
fn an_overview_before_anything_is_known() {
    look("overview-loading", &mut dashboard(1, false));
}

#[test]
fn an_overview_of_nothing_says_why_and_what_to_do() {
    let mut dashboard = dashboard(1, false);
    learn(&mut dashboard, News::Link(Err(fault())));
    learn(&mut dashboard, News::Runs(Ok(Vec::new())));
    look("overview-failed", &mut dashboard);
}

#[test]
fn an_overview_of_a_platform() {
    let mut dashboard = dashboard(1, false);
    connected(&mut dashboard);
    look("overview-ready", &mut dashboard);
}

#[test]
fn an_overview_that_is_old_says_so() {
    let mut dashboard = dashboard(1, false);
    connected(&mut dashboard);
    dashboard.world.tenants.lose(fault(), ago(90));
    dashboard.world.link.lose(fault(), ago(90));
    look("overview-stale", &mut dashboard);
}

#[test]
fn clusters_before_anything_is_known_and_when_there_are_none() {
    let mut dashboard = dashboard(2, false);
    look("clusters-loading", &mut dashboard);
    learn(&mut dashboard, link());
    learn(&mut dashboard, News::Tenants(vec![Seen::Begun, Seen::Complete]));
    look("clusters-empty", &mut dashboard);
}

#[test]
fn clusters_without_a_connection() {
    let mut dashboard = dashboard(2, false);
    learn(&mut dashboard, News::Link(Err(fault())));
    look("clusters-failed", &mut dashboard);
}

#[test]
fn clusters_as_a_list() {
    let mut dashboard = dashboard(2, false);
    connected(&mut dashboard);
    press(&mut dashboard, "j");
    look("clusters-ready", &mut dashboard);
    press(&mut dashboard, "cs");
    press(&mut dashboard, "/shop");
    look("clusters-filter", &mut dashboard);
}

#[test]
fn one_cluster_with_what_it_hangs_on() {
    let mut dashboard = dashboard(2, false);
    connected(&mut dashboard);
    press(&mut dashboard, "<enter>");
    look("cluster-loading", &mut dashboard);
    learn(&mut dashboard, looked_at(1));
    look("cluster-conditions", &mut dashboard);
    press(&mut dashboard, "y");
    look("cluster-yaml", &mut dashboard);
}

#[test]
fn a_question_help_and_palette_lie_above() {
    let mut dashboard = dashboard(2, false);
    connected(&mut dashboard);
    press(&mut dashboard, "<enter>");
    learn(&mut dashboard, looked_at(1));
    press(&mut dashboard, "D");
    look("ask-name", &mut dashboard);
    press(&mut dashboard, "wrong<enter>");
    insta::assert_snapshot!("ask-name-wrong", drawn(&mut dashboard, (80, 24)));
    press(&mut dashboard, "<esc>?");
    look("help", &mut dashboard);
    press(&mut dashboard, "<esc>:del");
    look("palette", &mut dashboard);
}

#[test]
fn colours_say_nothing_that_words_do_not() {
    // The snapshots above are made without any colour; here every palette draws the same letters.
    let text = |palette| {
        let mut dashboard = dashboard(1, false);
        dashboard.theme = Theme::new(palette);
        connected(&mut dashboard);
        drawn(&mut dashboard, (100, 30))
    };
    for palette in [Palette::Dark, Palette::Light, Palette::Contrast, Palette::Sixteen] {
        assert_eq!(text(palette), text(Palette::None), "{palette:?}");
    }
}
