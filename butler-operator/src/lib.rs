//! What acts on infrastructure.
