//! What is answered.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

pub struct Reply {
    status: StatusCode,
    kind: &'static str,
    body: Vec<u8>,
    more: Option<(HeaderName, HeaderValue)>,
}

/// Pages have their styles and scripts in them, and load nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

impl Reply {
    pub fn of(kind: &'static str, body: impl Into<Vec<u8>>) -> Reply {
        Reply { status: StatusCode::OK, kind, body: body.into(), more: None }
    }

    pub fn page(html: String) -> Reply {
        Reply::of("text/html; charset=utf-8", html)
    }

    /// What was asked for is not to be had, and why.
    pub fn refusal(status: StatusCode, why: &str) -> Reply {
        let reply = Reply::of("text/plain; charset=utf-8", format!("{}\n", why.trim_end()));
        Reply { status, ..reply }
    }

    pub fn with(self, name: HeaderName, value: impl Into<HeaderValue>) -> Reply {
        Reply { more: Some((name, value.into())), ..self }
    }

    pub fn response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(Bytes::from(self.body)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        for (name, value) in [
            (header::CONTENT_TYPE, self.kind),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            // Each time it is asked for it is another one.
            (header::CACHE_CONTROL, "no-store"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.extend(self.more);
        response
    }
}
