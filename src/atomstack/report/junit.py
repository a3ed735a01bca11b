"""JUnit XML: a test case for each finding, and a passing one for each code that found nothing."""

from xml.etree import ElementTree as ET

from atomstack.findings import Finding, Result, Severity
from atomstack.report import words


def render(result: Result, fail_on: Severity) -> str:
    """The XML document. Failures are what fails the gate; other findings, and the accepted, are skipped tests."""
    failing = set(result.failing(fail_on))
    found = {finding.code for finding in result.findings}
    suites = ET.Element("testsuites", name=result.gate)
    suite = ET.SubElement(suites, "testsuite", name=f"{result.gate}: {words.sides(result)}")
    _describe(ET.SubElement(suite, "properties"), result)
    for finding in result.findings:
        path = words.plain(result.path(finding))
        case = _case(suite, result, finding.code, f"{words.plain(finding.symbol)} at {path}:{finding.line}")
        case.set("file", path)
        case.set("line", str(finding.line))
        _judge(case, finding, path, fails=finding in failing)
    for check in result.checks:
        if check.code not in found:
            _case(suite, result, check.code, "nothing found")
    ET.SubElement(suite, "system-out").text = "\n".join(
        map(words.plain, (*filter(None, (result.headline,)), *result.not_checked, result.not_established))
    )
    for element in (suites, suite):
        element.set("tests", str(len(suite.findall("testcase"))))
        element.set("failures", str(len(suite.findall("testcase/failure"))))
        element.set("errors", "0")
        element.set("skipped", str(len(suite.findall("testcase/skipped"))))
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=False).join(
        ('<?xml version="1.0" encoding="UTF-8"?>\n', "\n")
    )


def _describe(properties: ET.Element, result: Result) -> None:
    for side in result.inputs:
        for key, value in (("name", side.name), ("version", side.version), ("content_hash", side.content_hash)):
            if value is not None:
                ET.SubElement(properties, "property", name=f"{side.role}.{key}", value=words.plain(value))
    for key, number in result.summary.items():
        ET.SubElement(properties, "property", name=key, value=words.plain(str(number)))


def _case(suite: ET.Element, result: Result, code: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=f"{result.gate}.{code}", name=name)


def _judge(case: ET.Element, finding: Finding, path: str, *, fails: bool) -> None:
    message = words.whole_message(finding)
    if fails:
        failure = ET.SubElement(case, "failure", type=f"{finding.severity} {finding.code}", message=message)
        failure.text = f"{path}:{finding.line}: {words.plain(finding.symbol)}: {message}"
    else:
        ET.SubElement(case, "skipped", message=f"{finding.severity}: {message}")
