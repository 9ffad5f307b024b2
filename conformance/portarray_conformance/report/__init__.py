"""Reports of a run: tables in the terminal, JSON, CSV, and an HTML page."""

from portarray_conformance.report.html import write_html
from portarray_conformance.report.json_ import Report, TargetReport, as_csv, as_json, write_json
from portarray_conformance.report.table import failure_texts, summary_table

__all__ = [
    "Report",
    "TargetReport",
    "as_csv",
    "as_json",
    "failure_texts",
    "summary_table",
    "write_html",
    "write_json",
]
