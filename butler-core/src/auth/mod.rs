//! Who the person is: the logins stored on this machine.

mod credentials;

pub use credentials::{Credentials, CredentialsError, Login};
