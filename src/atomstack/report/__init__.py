"""How a result is shown. Every format renders the same findings and decides nothing."""

from atomstack.findings import Result, Severity

FORMATS = ("text", "json", "sarif", "github", "junit", "html")


def render(form: str, result: Result, fail_on: Severity, *, colour: bool = False) -> str:
    """The result in one of FORMATS, ending in a newline. `colour` is for a terminal, and text alone has it."""
    match form:
        case "text":
            from atomstack.report import text

            return text.render(result, fail_on, colour=colour)
        case "json":
            from atomstack.report import json_report

            return json_report.render(result, fail_on)
        case "sarif":
            from atomstack.report import sarif

            return sarif.render(result, fail_on)
        case "github":
            from atomstack.report import github

            return github.render(result, fail_on)
        case "junit":
            from atomstack.report import junit

            return junit.render(result, fail_on)
        case "html":
            from atomstack.report import html_report

            return html_report.render(result, fail_on)
    raise ValueError(form)
