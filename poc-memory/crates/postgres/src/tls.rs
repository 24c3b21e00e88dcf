//! TLS for database connections.

use poc_graph::error::{Error, Result};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use std::path::Path;
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// A TLS connector that trusts the authorities in a PEM file, or the public ones if there is no
/// file.
///
/// # Errors
/// `invalid_config` if the file cannot be read or contains no certificate.
pub(crate) fn connector(authorities: Option<&Path>) -> Result<MakeRustlsConnect> {
    let mut roots = RootCertStore::empty();
    match authorities {
        Some(file) => {
            let unreadable = |why: String| {
                Error::config(format!("the certificates in `{}` cannot be read: {why}", file.display()))
                    .hint("`ca-file` in `[store]` is a file in PEM format")
                    .field("store.ca-file")
            };
            let certificates =
                CertificateDer::pem_file_iter(file).map_err(|error| unreadable(error.to_string()))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
                roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(unreadable("it has none".into()));
            }
        }
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal(format!("TLS cannot be set up: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
