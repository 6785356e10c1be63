//! Every event as one line of JSON on stdout, the same as in a journal.

use butler_core::event::{Consumer, Event};

use crate::{CommandError, CommandResult, Ui};

pub(super) struct Ndjson<'a> {
    ui: &'a Ui,
    failed: Option<CommandError>,
}

impl<'a> Ndjson<'a> {
    pub(super) fn new(ui: &'a Ui) -> Self {
        Self { ui, failed: None }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.failed.is_some()
    }

    pub(super) fn finish(self) -> CommandResult {
        self.failed.map_or(Ok(()), Err)
    }
}

impl Consumer for Ndjson<'_> {
    /// A job is not stopped because nobody reads; that is told when it has ended.
    fn event(&mut self, event: &Event) {
        if self.failed.is_some() {
            return;
        }
        let line = serde_json::to_string(event).map_err(|error| {
            CommandError::new(butler_core::error::Code::Internal, "cannot serialise an event")
                .caused_by(&error)
        });
        self.failed = line.and_then(|line| self.ui.data(&(line + "\n"))).err();
    }
}
