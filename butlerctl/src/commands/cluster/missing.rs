//! What to say when a cluster is not there.

use butler_core::{
    cluster::{ApiError, Connection},
    nearest::nearest,
    tenant::{self, Scope},
};
use butler_term::CommandError;

/// Adds the name that was probably meant, at the cost of one more request.
pub(crate) async fn explain(
    connection: &Connection,
    namespace: &str,
    name: &str,
    error: ApiError,
) -> CommandError {
    if !error.is_not_found() {
        return error.into();
    }
    let scope = Scope { namespace: Some(namespace.to_owned()), selector: None };
    let clusters = tenant::list(&connection.client, &scope).await.unwrap_or_default().clusters;
    let guess = nearest(name, clusters.iter().map(|cluster| cluster.name.as_str()));
    let error = CommandError::from(error);
    match guess {
        Some(guess) => error.hint(format!("did you mean `{guess}`")),
        None => error,
    }
    .hint(format!("butlerctl cluster list -n {namespace}"))
    .hint("butlerctl cluster list -A")
}
