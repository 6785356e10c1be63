//! What `bootstrap plan` prints.

use std::fmt::Write;

use butler_core::bootstrap::plan::{Place, Plan};
use butler_term::output::{Cell, Render, Table, View, one_line};
use serde::Serialize;

use super::plan_seen::seen;

/// Definitions are many, and the same for everybody.
const DEFINITION: &str = "CustomResourceDefinition";

/// A plan for people; `-o json` prints the plan itself.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct PlanReport<'a>(pub(super) &'a Plan);

impl PlanReport<'_> {
    fn headline(&self) -> String {
        let Plan { cluster, provider, topology, runtime, expected, .. } = self.0;
        let from = match expected.past_runs {
            0 => String::new(),
            1 => ", as the last run".to_owned(),
            count => format!(", as {count} earlier runs"),
        };
        let time = time(expected.seconds);
        format!(
            "cluster {cluster}: {provider}, {topology}, temporary cluster by {runtime}, about {time}{from}\n"
        )
    }

    fn steps(&self) -> Table {
        let mut table = Table::new(["step", "about", "does"]);
        for step in &self.0.steps {
            table.push([
                step.id.clone().into(),
                time(step.expected_seconds).into(),
                step.title.clone().into(),
            ]);
        }
        table
    }

    fn machines(&self) -> Table {
        let mut table = Table::new(["machine", "role", "cpu", "memory", "disk", "image"]);
        for machine in &self.0.machines {
            let extra: String = machine.extra_disks_gb.iter().map(|size| format!("+{size}")).collect();
            table.push([
                machine.name.clone().into(),
                machine.role.to_string().into(),
                machine.cpu.to_string().into(),
                format!("{}MB", machine.memory_mb).into(),
                format!("{}{extra}GB", machine.disk_gb).into(),
                or_dash(machine.image.as_deref()),
            ]);
        }
        table
    }

    fn addresses(&self) -> String {
        let addresses = &self.0.addresses;
        let endpoint = match &addresses.endpoint {
            Some(endpoint) => format!("{endpoint}: {}", addresses.endpoint_from),
            None => addresses.endpoint_from.clone(),
        };
        let mut text = "Addresses\n".to_owned();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "  {name:14}  {}", one_line(&value));
        };
        line("Endpoint", endpoint);
        if let Some((start, end)) = addresses.load_balancer_pool {
            line("Load balancers", format!("{start} - {end}"));
        }
        line("Pods", addresses.pod_cidr.to_string());
        line("Services", addresses.service_cidr.to_string());
        text
    }

    /// Without `-o wide` the definitions of a cluster are one row.
    fn objects(&self, view: &View) -> Table {
        let mut table = Table::new(["cluster", "kind", "namespace", "name"]);
        let definitions = |place: Place| {
            let objects = self.0.objects.iter();
            objects.filter(|object| object.place == place && object.kind == DEFINITION).count()
        };
        let mut said = Vec::new();
        for object in &self.0.objects {
            let name = if object.kind == DEFINITION && !view.wide {
                if said.contains(&object.place) {
                    continue;
                }
                said.push(object.place);
                format!("{} of Butler", definitions(object.place))
            } else {
                object.name.clone()
            };
            table.push([
                object.place.as_str().into(),
                object.kind.clone().into(),
                or_dash(object.namespace.as_deref()),
                name.into(),
            ]);
        }
        table
    }

    fn images(&self) -> Table {
        let mut table = Table::new(["image", "digest"]);
        for image in &self.0.images {
            let digest = match (&image.digest, &image.schematic) {
                (Some(digest), _) => digest.clone(),
                (None, Some(_)) => "made from its schematic; unknown until pulled".to_owned(),
                (None, None) => "unknown until pulled".to_owned(),
            };
            table.push([image.name.clone().into(), digest.into()]);
        }
        table
    }

    fn charts(&self) -> Table {
        let mut table = Table::new(["addon", "chart", "version", "compared with", "source"]);
        for chart in &self.0.charts {
            table.push([
                chart.addon.clone().into(),
                chart.name.clone().into(),
                or_dash(chart.version.as_deref()),
                chart.checked.as_str().into(),
                chart.source.clone().into(),
            ]);
        }
        table
    }
}

impl Render for PlanReport<'_> {
    fn text(&self, view: &View) -> String {
        let plan = self.0;
        let mut text = self.headline();
        let mut add = |part: String| text = format!("{text}\n{part}");
        add(self.steps().render(view.width));
        if !plan.machines.is_empty() {
            add(self.machines().render(view.width));
        }
        add(self.addresses());
        add(self.objects(view).render(view.width));
        if !plan.images.is_empty() {
            add(self.images().render(view.width));
        }
        if !plan.charts.is_empty() {
            add(self.charts().render(view.width));
        }
        if !plan.notes.is_empty() {
            let notes: Vec<String> =
                plan.notes.iter().map(|note| format!("  {}\n", one_line(note))).collect();
            add(format!("Notes\n{}", notes.concat()));
        }
        add(seen(&plan.world));
        text
    }

    fn names(&self) -> Vec<String> {
        let plan = self.0;
        let machines = plan.machines.iter().map(|machine| format!("machine/{}", machine.name));
        let objects = plan.objects.iter();
        machines
            .chain(objects.map(|object| format!("{}/{}", object.kind.to_lowercase(), object.name)))
            .collect()
    }
}

fn or_dash(text: Option<&str>) -> Cell {
    text.unwrap_or("-").into()
}

/// `45 s`, `3 min`, `1 h 5 min`.
fn time(seconds: u64) -> String {
    match seconds {
        0..100 => format!("{seconds} s"),
        100..3600 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
