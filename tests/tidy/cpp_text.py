"""Reads C++ just well enough for the house rules: text without comments and literals, functions."""

import re

_TOKEN = re.compile(
    r"""//[^\n]*
      | /\*.*?\*/
      | R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"
      | "(?:\\.|[^"\\\n])*"
      | (?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+'
    """,
    re.VERBOSE | re.DOTALL,
)
_INCLUDE = re.compile(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
_SCOPE = re.compile(r"\b(namespace|class|struct|enum|union|extern)\b")
_MEMBER_INITIALISERS = re.compile(r"\)\s*(?:noexcept\s*)?:(?!:)")


def strip(text):
    """Blanks comments and literals; every other character keeps its line and column."""

    def blank(match):
        token = match.group(0)
        inner = re.sub(r"[^\n]", " ", token)
        if token.startswith("/"):
            return inner
        return '"' + inner[1:-1] + '"' if len(token) > 1 else inner

    return _TOKEN.sub(blank, text)


def includes(text):
    """Yields (line number, path) of each include directive that is not commented out."""
    comments_only = re.sub(
        r"//[^\n]*|/\*.*?\*/",
        lambda match: re.sub(r"[^\n]", " ", match.group(0)),
        text,
        flags=re.DOTALL,
    )
    for match in _INCLUDE.finditer(comments_only):
        yield text.count("\n", 0, match.start(1)) + 1, match.group(1)


def functions(code):
    """Yields (first line, last line, head) of each function in stripped code, by matching braces.

    A lambda belongs to the function around it. Macros such as TEST(a, b) count too.
    """
    code = _DIRECTIVE.sub(_blank, code)
    stack = []  # Of (kind, line of the head, head).
    head, head_line, line = "", 1, 1
    for position, character in enumerate(code):
        if character == "\n":
            line += 1
        inside_function = any(kind == "function" for kind, _, _ in stack)
        if character == "{":
            kind = "block" if inside_function else _kind(head, code[position - 1 : position])
            stack.append((kind, head_line, head))
            if kind != "initialiser":
                head = ""
        elif character == "}":
            if not stack:
                return
            kind, first, opened = stack.pop()
            if kind == "function":
                yield first, line, " ".join(opened.split())
            head = opened + "{}" if kind == "initialiser" else ""
        elif character == ";" and not _in_parenthesis(head):
            head = ""
        else:
            if not head.strip() and not character.isspace():
                head, head_line = "", line
            head += character


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def _in_parenthesis(head):
    return head.count("(") > head.count(")")


def _kind(head, previous):
    text = head.strip()
    if _MEMBER_INITIALISERS.search(text) and (previous.isalnum() or previous in "_>"):
        return "initialiser"
    if _in_parenthesis(text):
        return "initialiser"
    before_parenthesis = text.split("(", 1)[0]
    template_free = re.sub(r"template\s*<[^{}]*?>\s*(?=[\w:])", "", before_parenthesis)
    if "(" not in text or _is_type_head(template_free):
        return "scope"
    if re.search(r"(?<![=!<>+\-*/|&^])=(?!=)", before_parenthesis) and "operator" not in text:
        return "scope"
    return "function"


def _is_type_head(before_parenthesis):
    """Whether a head with parentheses opens a type, as in: class CAPABILITY("mutex") Mutex {"""
    words = before_parenthesis.split()
    return bool(words) and bool(_SCOPE.fullmatch(words[0])) and len(words) <= 2
