//! The data of the site's pages.

use crate::error::ReportError;
use crate::load::Input;
use crate::site::Site;
use std::collections::BTreeMap;

/// Writes every page.
pub(crate) fn write(input: &Input, site: &mut Site) -> Result<(), ReportError> {
    site.page("index.html", "index.html", &BTreeMap::from([("title", &input.words.title)]))
}
