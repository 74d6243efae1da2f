"""Runs the unittest cases of a module and reports each as a case of its own.

    if __name__ == "__main__":
        case_report.main()

Bazel names the file for the report in XML_OUTPUT_FILE; without it the report is left out.
"""

import os
import sys
import time
import unittest
import xml.etree.ElementTree as ElementTree


class _Result(unittest.TextTestResult):
    """Remembers what each case took and what became of it."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.cases = []
        self._began = 0.0

    def startTest(self, test):
        super().startTest(test)
        self._began = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        self.cases.append((test.id(), time.monotonic() - self._began))

    def verdicts(self):
        """The text of the failure by the id of the case; a failed set-up is a case as well."""
        return {test.id(): text for test, text in self.failures + self.errors}


def _write_report(path, result):
    verdicts = result.verdicts()
    cases = dict(result.cases)
    suite = ElementTree.Element("testsuite", name=sys.argv[0])
    for name in list(cases) + [name for name in verdicts if name not in cases]:
        seconds = f"{cases.get(name, 0):.3f}"
        case = ElementTree.SubElement(suite, "testcase", name=name, time=seconds)
        if name in verdicts:
            ElementTree.SubElement(case, "failure").text = verdicts[name]
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    runner = unittest.TextTestRunner(
        stream=sys.stdout, verbosity=2, failfast=False, resultclass=_Result
    )
    result = runner.run(suite)
    if "XML_OUTPUT_FILE" in os.environ:
        _write_report(os.environ["XML_OUTPUT_FILE"], result)
    verdicts = result.verdicts()
    passed = sum(name not in verdicts for name, _ in result.cases)
    print(f"{passed} passed, {len(verdicts)} failed")
    sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)
