"""What a run found: as tables in the terminal, as JSON, and as one page of HTML."""

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
